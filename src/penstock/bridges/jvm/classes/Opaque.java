package penstock.bridge;

import java.lang.ref.Cleaner;

/**
 * A Python object in the hands of Java, which can pass it on and give it back, and nothing else.
 *
 * <p>Python keeps the object as long as one of these is in use. Two of them are equal if they stand
 * for the same object.
 */
public final class Opaque {
    private static final Cleaner CLEANER = Cleaner.create();

    public final long identity;

    Opaque(long identity) {
        this.identity = identity;
        CLEANER.register(this, new Release(identity));
    }

    private record Release(long identity) implements Runnable {
        @Override
        public void run() {
            BridgeEvents.release(identity);
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Opaque opaque && opaque.identity == identity;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(identity);
    }

    @Override
    public String toString() {
        return "Python object " + identity;
    }
}
