// The views as they come, and what to do when they do not.

// The server says something every five seconds, if only that there is nothing to say.
const SILENCE = 15_000;
const AGAIN = 1000;

export function follow({ onView, onHistory, onLost, onRefused }) {
  let source = null;
  let silence = 0;

  function open() {
    source?.close();
    source = new EventSource("events");
    source.addEventListener("open", () => void tellHistory());
    source.addEventListener("message", (event) => {
      alive();
      onView(JSON.parse(event.data));
    });
    source.addEventListener("heartbeat", alive);
    source.addEventListener("error", lost);
    alive();
  }

  function alive() {
    clearTimeout(silence);
    silence = setTimeout(() => {
      onLost();
      open();
    }, SILENCE);
  }

  // A browser tries again by itself as long as nobody answers; any answer but events ends that.
  function lost() {
    onLost();
    if (source.readyState === EventSource.CLOSED) void findOut();
  }

  async function findOut() {
    const answer = await fetch("history").catch(() => null);
    if (answer?.status === 403) {
      clearTimeout(silence);
      onRefused();
    } else {
      setTimeout(open, AGAIN);
    }
  }

  async function tellHistory() {
    const answer = await fetch("history").catch(() => null);
    if (answer?.ok) onHistory(await answer.json());
  }

  open();
}
