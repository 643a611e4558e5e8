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

// ErrConflict means that another process has replaced the lease or a checkpoint.
var ErrConflict = errors.New("somebody else wrote there meanwhile")

// Bucket is the NATS key-value bucket in which a deployment stores its checkpoints and leases.
type Bucket struct {
	js    jetstream.JetStream
	space subjects.Space

	mu     sync.Mutex // guards stream
	stream jetstream.Stream
}

// At returns the checkpoint bucket of a broker, without sending a request.
func At(js jetstream.JetStream, space subjects.Space) *Bucket { return &Bucket{js: js, space: space} }

// Name returns the name of the bucket, as NATS tools use it.
func (b *Bucket) Name() string { return b.space.CheckpointBucket() }

// Entry is the value that the bucket stores for a key, with the revision of the value.
type Entry struct {
	Data     []byte // nil if missing or deleted
	Revision uint64 // 0 if the key never existed
}

// Newest returns the signed checkpoint of tenant, unverified. It asks the stream's leader, because
// a replica may be behind.
func (b *Bucket) Newest(ctx context.Context, tenant string) (Entry, error) {
	key, subject, err := b.space.CheckpointKey(tenant)
	if err != nil {
		return Entry{}, err
	}
	return b.read(ctx, key, subject)
}

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
	if msg.Header.Get(headerOperation) != "" { // a deletion marker
		return Entry{Revision: msg.Sequence}, nil
	}
	return Entry{Data: msg.Data, Revision: msg.Sequence}, nil
}

// headerOperation is the header with which NATS tools mark a deleted key.
const headerOperation = "KV-Operation"

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
	// A replica may answer direct reads with an old revision, so read from the stream's leader.
	stream.CachedInfo().Config.AllowDirect = false
	b.stream = stream
	return stream, nil
}

func (b *Bucket) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stream = nil
}

func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeStoreFailed && strings.Contains(api.Description, "maximum bytes")
}

func explain(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("%w: create it with hooktrail nats init as the owner", err)
	case isFull(err):
		return fmt.Errorf("%w: the bucket is full: enlarge it with nats stream edit --max-bytes", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: check that the broker is reachable and that the auditor's user has the rights in docs/operations.md", err)
	}
	return err
}
