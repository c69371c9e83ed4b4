package org.stemma;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Paths;

/**
 * Says what only the program knows, for the record of the run (include/stemma/app.h).
 *
 * <pre>
 * App.config("learning_rate", "0.01");
 * try (App.Activity epoch = App.activity("epoch")) {
 *     App.metric("accuracy", 0.93, 1);
 * }
 * </pre>
 *
 * Outside of {@code stemma run} each call returns at once. The library libstemma-app-jni is looked for at the path in the property
 * {@code stemma.library}, else at that in the variable STEMMA_APP_JAVA_LIBRARY, which {@code stemma run} sets, else in
 * java.library.path. Where it is not found, {@code stemma run} says so once. Nothing is thrown. Any thread may call; an activity
 * is the thread's own.
 */
public final class App {
    private static final int TYPE = 1, CONFIG = 2, METRIC = 3, BEGIN = 4, END = 5, USED = 6, GENERATED = 7, TAG = 8;
    /** Of a figure: of the run as a whole. */
    public static final long NO_STEP = Long.MIN_VALUE;

    private static final byte[] NONE = new byte[0];
    /** There is something to say it to, and no library to say it by; nobody was told yet. */
    private static volatile boolean unfound;
    private static final boolean ON = load();

    private App() {
    }

    private static boolean load() {
        if (System.getenv("STEMMA_APP") == null)
            return false;
        try {
            String path = System.getProperty("stemma.library", System.getenv("STEMMA_APP_JAVA_LIBRARY"));
            if (path != null)
                System.load(path);
            else
                System.loadLibrary("stemma-app-jni");
            return present0(bytes("java " + System.getProperty("java.version", "")));
        } catch (LinkageError | SecurityException e) {
            unfound = true;
            return false;
        }
    }

    /** Is it to be said? The first word that cannot be leaves a mark, of which {@code stemma run} tells the user. */
    private static boolean on() {
        if (unfound)
            mark();
        return ON;
    }

    private static void mark() {
        unfound = false;
        try {
            String channel = System.getenv("STEMMA_APP");
            if (channel.startsWith("/") && channel.lastIndexOf(':') > 0)
                Files.createFile(Paths.get(channel.substring(0, channel.lastIndexOf(':')), "no-library-java"));
        } catch (IOException | InvalidPathException | SecurityException e) {
            return; // another program's is there, or nobody is recording any more
        }
    }

    private static native boolean present0(byte[] tool);

    private static native byte[] run0();

    private static native long say0(int kind, byte[] name, byte[] value, byte[] version, double number, long step,
            long activity);

    private static byte[] bytes(String s) {
        return s == null ? NONE : s.getBytes(StandardCharsets.UTF_8);
    }

    private static long say(int kind, String name, String value, String version) {
        return say0(kind, bytes(name), bytes(value), bytes(version), 0, NO_STEP, 0);
    }

    /** Is somebody recording? */
    public static boolean present() {
        return ON;
    }

    /** The id of the run, or null. */
    public static String run() {
        return ON ? new String(run0(), StandardCharsets.US_ASCII) : null;
    }

    /** What kind of run this is. */
    public static void type(String name) {
        if (on())
            say(TYPE, name, null, null);
    }

    /** A setting that the run depends on. */
    public static void config(String name, Object value) {
        config(name, value, null);
    }

    public static void config(String name, Object value, String version) {
        if (on())
            say(CONFIG, name, String.valueOf(value), version);
    }

    /** A figure of the run as a whole. */
    public static void metric(String name, double value) {
        metric(name, value, NO_STEP);
    }

    /** A figure that came out at a step. */
    public static void metric(String name, double value, long step) {
        if (on())
            say0(METRIC, bytes(name), NONE, NONE, value, step, 0);
    }

    /** The program read what has this name. */
    public static void used(String name) {
        if (on())
            say(USED, name, null, null);
    }

    /** The program made what has this name. */
    public static void generated(String name) {
        if (on())
            say(GENERATED, name, null, null);
    }

    /** A word for whoever looks for the run later. */
    public static void tag(String name, String value) {
        if (on())
            say(TAG, name, value, null);
    }

    /** Begins a part of the program's work. */
    public static Activity activity(String name) {
        return new Activity(on() ? say(BEGIN, name, null, null) : 0);
    }

    /** A part of the program's work, to its close. */
    public static final class Activity implements AutoCloseable {
        private long id;

        private Activity(long id) {
            this.id = id;
        }

        @Override
        public void close() {
            long begun = id;
            id = 0;
            if (begun != 0)
                say0(END, NONE, NONE, NONE, 0, NO_STEP, begun);
        }
    }
}
