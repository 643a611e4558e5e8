package consume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Position is how far a projection has got, and in which stream.
type Position = projection.Position

// Marks are the high-water marks by which a projection tells copies from new
// events.
type Marks = projection.Marks

// ErrStreamChanged ends Run when the stream is not the one that the projection
// was built from.
var ErrStreamChanged = errors.New("the stream is not the one that was read before")

// Message is an event or a manifest as the stream holds it.
type Message struct {
	Sequence uint64           // of the stream
	Subject  string           // as stored
	Address  subjects.Address // what the subject says; the zero Address when it is not one of ours, see [Options.Foreign]
	Data     []byte           // the event's or manifest's bytes, verbatim
	Stored   time.Time        // when the server stored it
}

// Projection is what a service makes of the stream. Its methods are called from
// one goroutine.
type Projection interface {
	// Position returns what Apply committed last. It is called at the start,
	// after each failure of Apply, and after each loss of the broker.
	Position(ctx context.Context) (Position, error)

	// Apply applies batch in stream order and commits it together with next in
	// one transaction. The batch is empty when only the position moves. A
	// [*Poison] error, with nothing committed, names the one message that can
	// never be applied: it is dead-lettered, and Apply is called again without
	// it, but with the same next. Any other error is tried again later, for ever,
	// unless Position says that the batch was committed all the same.
	Apply(ctx context.Context, batch []Message, next Position) error
}

// Poison is the error for a message that can never be applied. The reason goes
// into the stream of dead letters: it must not quote the message.
type Poison struct { //nolint:errname // it names the message as much as the error
	Sequence uint64 // of the stream
	Reason   string
}

// Error implements error.
func (p *Poison) Error() string { return fmt.Sprintf("message %d: %s", p.Sequence, p.Reason) }

// Hole is an inclusive range of stream sequences that no longer exist.
type Hole struct {
	First, Last uint64
	Expired     bool // by age or size, at the head of the stream; otherwise somebody deleted them
}

// Progress is how a run stands.
type Progress struct {
	Done     uint64   // messages applied in this run
	Position Position // what is committed
	Last     uint64   // last sequence of the stream, as far as known
	Target   uint64   // with Drain: the sequence to reach; 0 otherwise
	Lag      uint64   // messages that are to come, counted from Position
	Err      error    // what keeps the run from going on; nil when nothing does
}

// Options say what to read and how. Durable is required.
type Options struct {
	Durable string // name of the service, and of its consumer on the server
	Space   subjects.Space
	Tenant  string // only this tenant's messages; empty means all
	Foreign bool   // hand over messages on foreign subjects instead of dead-lettering them

	Batch      int           // messages per Apply at most, 1000 by default
	BatchBytes int           // bytes per Apply at most, give or take a message; 8 MiB by default
	Linger     time.Duration // how long a batch that is not full waits for more, while a drain knows of more; by default it does not

	Drain       bool          // handle all up to the stream's last message at start, then return nil
	AckWait     time.Duration // of the durable, 60 s by default
	IdleCheck   time.Duration // how often an idle run looks for itself, 2 s by default
	RetryMax    time.Duration // longest pause before a retry, 30 s by default
	StopTimeout time.Duration // what the batch in hand gets to finish when ctx ends, 10 s by default

	Logger   *slog.Logger
	Progress func(Progress) // called after each batch, check and failure

	// Expected is what the stream must hold while the position is the zero one, of
	// a projection whose position was lost; its zero value expects nothing.
	Expected Position

	// OnHole is told of messages that are gone before they were read.
	OnHole func(Hole)

	// OnStreamChanged is asked when the stream was re-created or rolled back.
	// Nil ends Run with ErrStreamChanged, an error ends Run with it, nil goes
	// on behind the last message in common that Passed knows of, or else from the
	// first message of the stream as it is now.
	OnStreamChanged func(reason string) error

	// Passed returns positions that the projection has passed, the latest first.
	// They are compared with a stream that changed.
	Passed func(ctx context.Context) ([]Position, error)
}

func (o Options) withDefaults() Options {
	setDefault(&o.Batch, 1000)
	setDefault(&o.BatchBytes, 8<<20)
	setDefault(&o.AckWait, time.Minute)
	setDefault(&o.IdleCheck, 2*time.Second)
	setDefault(&o.RetryMax, 30*time.Second)
	setDefault(&o.StopTimeout, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.OnHole == nil {
		o.OnHole = func(Hole) {}
	}
	if o.Passed == nil {
		o.Passed = func(context.Context) ([]Position, error) { return nil, nil }
	}
	if o.OnStreamChanged == nil {
		o.OnStreamChanged = func(reason string) error { return fmt.Errorf("%w: %s", ErrStreamChanged, reason) }
	}
	return o
}

func setDefault[T int | time.Duration](v *T, value T) {
	if *v <= 0 {
		*v = value
	}
}
