package penstock.bridge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.util.Arrays;
import java.util.Collection;

/**
 * Elements that cross together, by columns: a crossing costs as much for one element as for many.
 *
 * <p>{@code kinds} has a byte for each element. Its number is in {@code numbers}: the number itself,
 * the bits of a double, the identity of a Python object, or where its part of {@code text} ends.
 * Text is in UTF-16. Columns that are not needed are null.
 */
public final class Chunk {
    static final byte LONG = 0;
    static final byte DOUBLE = 1;
    static final byte BOOLEAN = 2;
    static final byte STRING = 3;
    static final byte BYTES = 4;
    static final byte OPAQUE = 5;
    static final byte OTHER = 6;

    /** Bytes of text in a chunk with which it is large enough. */
    static final long LARGE = 1 << 20;

    public final byte[] kinds;
    public final long[] numbers;
    public byte[] text;
    public Object[] objects;

    /** Whether nothing follows, and the error with which the stream ended, if there is one. */
    public final boolean last;
    public final Throwable error;

    private int end;

    Chunk(Collection<Object> elements, boolean last, Throwable error) {
        kinds = new byte[elements.size()];
        numbers = new long[elements.size()];
        this.last = last;
        this.error = error;
        int index = 0;
        for (Object element : elements) {
            kinds[index] = put(index, element);
            index++;
        }
        if (text != null) {
            text = Arrays.copyOf(text, end);
        }
    }

    /** Bytes of text that an element takes. */
    static long sizeOf(Object element) {
        if (element instanceof String string) {
            return string.length() * 2L;
        }
        return element instanceof byte[] bytes ? bytes.length : 0;
    }

    private byte put(int index, Object element) {
        if (element instanceof Long || element instanceof Integer) {
            numbers[index] = ((Number) element).longValue();
            return LONG;
        }
        if (element instanceof String string) {
            characters(room(string.length() * 2)).put(string);
            numbers[index] = end;
            return STRING;
        }
        if (element instanceof Double number) {
            numbers[index] = Double.doubleToRawLongBits(number);
            return DOUBLE;
        }
        if (element instanceof Boolean truth) {
            numbers[index] = truth ? 1 : 0;
            return BOOLEAN;
        }
        if (element instanceof byte[] bytes) {
            room(bytes.length).put(bytes);
            numbers[index] = end;
            return BYTES;
        }
        if (objects == null) {
            objects = new Object[kinds.length];
        }
        objects[index] = element; // an opaque one as well, or it might be released on its way
        if (element instanceof Opaque opaque) {
            numbers[index] = opaque.identity;
            return OPAQUE;
        }
        return OTHER;
    }

    private ByteBuffer room(int bytes) {
        int start = end;
        end = Math.addExact(end, bytes);
        if (text == null) {
            text = new byte[Math.max(bytes, 1024)];
        } else if (text.length < end) {
            text = Arrays.copyOf(text, (int) Math.min(Integer.MAX_VALUE - 8, end * 2L));
        }
        return ByteBuffer.wrap(text, start, bytes);
    }

    private static CharBuffer characters(ByteBuffer bytes) {
        return bytes.slice().order(ByteOrder.LITTLE_ENDIAN).asCharBuffer();
    }

    /** The elements of columns that were made by Python. */
    static Object[] elements(byte[] kinds, long[] numbers, byte[] text, Object[] objects) {
        Object[] elements = new Object[kinds.length];
        int start = 0;
        for (int index = 0; index < kinds.length; index++) {
            int end = (int) numbers[index];
            switch (kinds[index]) {
                case LONG -> elements[index] = numbers[index];
                case DOUBLE -> elements[index] = Double.longBitsToDouble(numbers[index]);
                case BOOLEAN -> elements[index] = numbers[index] != 0;
                case STRING -> {
                    ByteBuffer part = ByteBuffer.wrap(text, start, end - start);
                    elements[index] = characters(part).toString();
                    start = end;
                }
                case BYTES -> {
                    elements[index] = Arrays.copyOfRange(text, start, end);
                    start = end;
                }
                case OPAQUE -> elements[index] = new Opaque(numbers[index]);
                default -> elements[index] = objects[index];
            }
        }
        return elements;
    }
}
