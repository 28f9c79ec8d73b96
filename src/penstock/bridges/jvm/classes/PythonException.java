package penstock.bridge;

/** An exception of Python. Where it comes back to Python, it is the same one again. */
public final class PythonException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public final transient Opaque original;

    public PythonException(String message, Throwable cause, long identity) {
        super(message, cause);
        original = new Opaque(identity);
    }
}
