package penstock.bridge;

import java.util.Objects;
import java.util.concurrent.Flow;

/** A publisher of Python. A thread of Python serves those that subscribe. */
public final class PythonPublisher implements Flow.Publisher<Object> {
    private final Opaque publisher;
    private final String name;

    public PythonPublisher(long identity, String name) {
        this.publisher = new Opaque(identity);
        this.name = name;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super Object> subscriber) {
        Objects.requireNonNull(subscriber, "the subscriber is null (rule 1.9)");
        BridgeEvents.subscribed(new PythonSubscription(publisher, subscriber));
    }

    @Override
    public String toString() {
        return name;
    }
}
