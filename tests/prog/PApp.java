import org.stemma.App;

/** The list of p-app.c in Java. */
public final class PApp {
    public static void main(String[] args) throws InterruptedException {
        App.type("training");
        App.config("learning_rate", 0.01, "v2");
        App.config("batch size", 32);
        App.config("words", "Gr\u00fc\u00dfe\n\u65e5\u672c");
        App.config("large", new String(new char[1 << 20]).replace('\0', 'x'));
        App.metric("accuracy", 0.5, 1);
        App.metric("accuracy", 0.75, 2);
        App.metric("accuracy", 0.625, 3);
        App.metric("loss", 0.25);
        try (App.Activity epoch = App.activity("epoch"); App.Activity batch = App.activity("batch")) {
            App.used("input.csv");
        }
        App.generated("model.bin");
        App.tag("purpose", "test");
        Thread t = new Thread(() -> {
            try (App.Activity worker = App.activity("worker")) {
                App.metric("threaded", 1, 0);
            }
        });
        t.start();
        t.join();
        System.out.println((App.present() ? 1 : 0) + " " + (App.present() ? App.run() : "-"));
    }
}
