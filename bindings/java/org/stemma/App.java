package org.stemma;

import java.nio.charset.StandardCharsets;

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
 * Outside of {@code stemma run}, and where the library libstemma-app-jni is not found (java.library.path, or the property
 * {@code stemma.library} with its whole path), each call returns at once. Nothing is thrown. Any thread may call; an activity is
 * the thread's own.
 */
public final class App {
    private static final int TYPE = 1, CONFIG = 2, METRIC = 3, BEGIN = 4, END = 5, USED = 6, GENERATED = 7, TAG = 8;
    /** Of a figure: of the run as a whole. */
    public static final long NO_STEP = Long.MIN_VALUE;

    private static final byte[] NONE = new byte[0];
    private static final boolean ON = load();

    private App() {
    }

    private static boolean load() {
        if (System.getenv("STEMMA_APP") == null)
            return false;
        try {
            String path = System.getProperty("stemma.library");
            if (path != null)
                System.load(path);
            else
                System.loadLibrary("stemma-app-jni");
            return present0(bytes("java " + System.getProperty("java.version", "")));
        } catch (LinkageError | SecurityException e) {
            return false;
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
        if (ON)
            say(TYPE, name, null, null);
    }

    /** A setting that the run depends on. */
    public static void config(String name, Object value) {
        config(name, value, null);
    }

    public static void config(String name, Object value, String version) {
        if (ON)
            say(CONFIG, name, String.valueOf(value), version);
    }

    /** A figure of the run as a whole. */
    public static void metric(String name, double value) {
        metric(name, value, NO_STEP);
    }

    /** A figure that came out at a step. */
    public static void metric(String name, double value, long step) {
        if (ON)
            say0(METRIC, bytes(name), NONE, NONE, value, step, 0);
    }

    /** The program read what has this name. */
    public static void used(String name) {
        if (ON)
            say(USED, name, null, null);
    }

    /** The program made what has this name. */
    public static void generated(String name) {
        if (ON)
            say(GENERATED, name, null, null);
    }

    /** A word for whoever looks for the run later. */
    public static void tag(String name, String value) {
        if (ON)
            say(TAG, name, value, null);
    }

    /** Begins a part of the program's work. */
    public static Activity activity(String name) {
        return new Activity(ON ? say(BEGIN, name, null, null) : 0);
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
