package bucket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// ErrConflict is wrapped when what was to be replaced is not there any more:
// somebody else wrote the lease or a checkpoint.
var ErrConflict = errors.New("somebody else wrote there meanwhile")

// Bucket is the bucket of checkpoints of a deployment.
type Bucket struct {
	js    jetstream.JetStream
	space subjects.Space

	mu     sync.Mutex // guards stream
	stream jetstream.Stream
}

// At returns the bucket at a broker. It asks for nothing yet.
func At(js jetstream.JetStream, space subjects.Space) *Bucket { return &Bucket{js: js, space: space} }

// Name returns the name of the bucket, as NATS's own tools know it.
func (b *Bucket) Name() string { return b.space.CheckpointBucket() }

// Entry is what lies under a key of the bucket. The zero Entry is nothing.
type Entry struct {
	Data     []byte // nil if nothing lies there
	Revision uint64 // what replaces it has to name; 0: nothing has ever been there
}

// Newest returns the checkpoint of tenant, a signed note, as the broker's leader
// has it. It is for the caller to open the note.
func (b *Bucket) Newest(ctx context.Context, tenant string) (Entry, error) {
	key, subject, err := b.space.CheckpointKey(tenant)
	if err != nil {
		return Entry{}, err
	}
	return b.read(ctx, key, subject)
}

// read returns what lies under a key.
func (b *Bucket) read(ctx context.Context, key, subject string) (Entry, error) {
	stream, err := b.open(ctx)
	if err != nil {
		return Entry{}, fmt.Errorf("bucket %s: %w", b.Name(), explain(err))
	}
	msg, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Entry{}, nil
	}
	if err != nil {
		b.forget()
		return Entry{}, fmt.Errorf("read %s in bucket %s: %w", key, b.Name(), explain(err))
	}
	if msg.Header.Get(headerOperation) != "" { // a marker of what an operator deleted
		return Entry{Revision: msg.Sequence}, nil
	}
	return Entry{Data: msg.Data, Revision: msg.Sequence}, nil
}

// headerOperation is on the markers that NATS's tools leave where a key was.
const headerOperation = "KV-Operation"

// open returns the stream that the bucket is, looked up once.
func (b *Bucket) open(ctx context.Context) (jetstream.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream != nil {
		return b.stream, nil
	}
	stream, err := b.js.Stream(ctx, b.space.CheckpointStream())
	if err != nil {
		return nil, err
	}
	// A replica that is behind would give revisions that are over.
	stream.CachedInfo().Config.AllowDirect = false
	b.stream = stream
	return stream, nil
}

// forget has the stream looked up anew: it may be another one, or gone.
func (b *Bucket) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stream = nil
}

// isFull tells whether the server has refused a write for want of room in the bucket.
func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeStoreFailed && strings.Contains(api.Description, "maximum bytes")
}

// explain adds to an error how to mend it.
func explain(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("%w: hooktrail nats init, with the rights of the owner, makes it", err)
	case isFull(err):
		return fmt.Errorf("%w: it is full: give it more with nats stream edit --max-bytes", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: is the broker there, and has the auditor's user the rights of docs/operations.md", err)
	}
	return err
}
