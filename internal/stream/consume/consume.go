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

// Position is an alias of [projection.Position], which identifies the last applied message.
type Position = projection.Position

// Marks is an alias of [projection.Marks], which a projection uses to recognise repeated events.
type Marks = projection.Marks

// ErrStreamChanged means that the stream is not the one from which the projection was built.
var ErrStreamChanged = errors.New("the stream is not the one that was read before")

// Message is a message in the stream. It contains an event, or a manifest that lists the events of
// a batch.
type Message struct {
	Sequence uint64
	Subject  string
	Address  subjects.Address // zero if the subject is unknown, see [Options.UnknownSubjects]
	Data     []byte           // the event or manifest, unmodified
	Stored   time.Time        // when the server stored the message
}

// Projection is a database that a service derives from the stream. Run calls its methods from one
// goroutine.
type Projection interface {
	// Position returns the position that was last committed. Run continues after it.
	Position(ctx context.Context) (Position, error)

	// Apply applies the messages in stream order, and commits them and the next position in one
	// transaction. An empty batch only stores the position.
	//
	// If a message can never be applied, Apply commits nothing and returns a [*Poison]. Run then
	// calls Apply again without that message. After any other error, Run retries unless Position
	// shows that the batch was committed.
	Apply(ctx context.Context, batch []Message, next Position) error
}

// Poison is the error for a message that can never be applied. Reason is published, so it must not
// quote the message.
type Poison struct { //nolint:errname // it names the message as much as the error
	Sequence uint64
	Reason   string
}

// Error implements error.
func (p *Poison) Error() string { return fmt.Sprintf("message %d: %s", p.Sequence, p.Reason) }

// Gap is a range of stream sequences whose messages no longer exist. First and Last are part of the
// range.
type Gap struct {
	First, Last uint64
	// Expired means that the messages were removed because of their age or of the size of the
	// stream. It is false if a user removed them.
	Expired bool
}

// Progress describes how far a call of Run has read the stream.
type Progress struct {
	Done     uint64 // applied in this call
	Position Position
	Last     uint64 // last known sequence of the stream
	Target   uint64 // sequence at which a drain ends; 0 without Drain
	Lag      uint64 // messages after Position
	Err      error
}

// Options configures Run. Durable is required.
type Options struct {
	Durable string // name of the service, which also names the consumer on the server
	Space   subjects.Space
	Tenant  string // empty means all tenants

	// UnknownSubjects passes messages with unknown subjects to Apply. Otherwise, such messages
	// become dead letters.
	UnknownSubjects bool

	Batch      int           // messages per Apply; 1000 by default
	BatchBytes int           // approximate bytes per Apply; 8 MiB by default
	Linger     time.Duration // how long a partial batch waits for more; 0 by default

	Drain   bool          // return nil after the last message that existed at the start
	AckWait time.Duration // acknowledgement timeout of the durable; 60 s by default
	// IdleCheck is the interval of the checks of the stream while no message arrives. The default
	// is 2 s.
	IdleCheck   time.Duration
	RetryMax    time.Duration // longest pause before a retry; 30 s by default
	StopTimeout time.Duration // time for the current batch after ctx ends; 10 s by default

	Logger   *slog.Logger
	Progress func(Progress) // called after each batch, check and failure

	// Expected is a position that the stream must contain. Set it to detect another stream even if
	// the projection has lost its own position.
	Expected Position

	// OnGap is called for messages that were lost before Run could read them.
	OnGap func(Gap)

	// OnStreamChanged is called when the stream was created again or rolled back. If it returns
	// nil, Run continues after the latest position in Passed whose message is unchanged. If it
	// returns an error, or is nil, Run ends.
	OnStreamChanged func(reason string) error

	// Passed returns earlier positions of the projection, the latest one first.
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
	if o.OnGap == nil {
		o.OnGap = func(Gap) {}
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
