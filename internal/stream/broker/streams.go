package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Limits on the size and age of new streams.
const (
	DefaultStreamBytes = 10 << 30
	deadLetterBytes    = 64 << 20
	advisoryBytes      = 16 << 20
	checkpointBytes    = 32 << 20

	eventAge      = 30 * 24 * time.Hour
	deadLetterAge = 365 * 24 * time.Hour
	duplicates    = 2 * time.Minute

	checkpointHistory = 8 // stored checkpoints per key
)

// Error codes of the server that have no name in the client library.
const (
	errCodeResources jetstream.ErrorCode = 10023
	errCodeStorage   jetstream.ErrorCode = 10047
	errCodeOverlap   jetstream.ErrorCode = 10065
)

// StreamOptions contains the settings that a deployment can choose.
type StreamOptions struct {
	// MaxBytes is the maximum size of the event stream. 0 keeps the size of an existing stream.
	MaxBytes    int64
	AllowTamper bool // only for tests: new streams lack DenyDelete and DenyPurge

	DefaultBytes int64 // 0 means DefaultStreamBytes
	Replicas     int   // replicas of new streams on a cluster; 0 means 1
}

// EnsureStreams creates missing streams. It does not change existing streams, but returns how they
// differ from new ones.
func EnsureStreams(
	ctx context.Context, js jetstream.JetStream, space subjects.Space, opts StreamOptions,
) (drift []string, err error) {
	for _, want := range streamConfigs(space, opts) {
		found, err := ensure(ctx, js, want)
		if err != nil {
			return drift, err
		}
		if opts.MaxBytes == 0 && want.Name == space.EventStream() && found.MaxBytes > 0 {
			want.MaxBytes = found.MaxBytes
		}
		drift = append(drift, compare(want, found)...)
	}
	return drift, nil
}

func ensure(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			stream, err = js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return jetstream.StreamConfig{}, fmt.Errorf("stream %s: %w", want.Name, explain(err))
	}
	return stream.CachedInfo().Config, nil
}

func explain(err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode {
	case errCodeStorage, errCodeResources:
		return fmt.Errorf("%w: the broker lacks space for it; "+
			"free space on its disk, raise its max_file_store, or create a smaller stream with hooktrail nats init --max-bytes", err)
	case errCodeOverlap:
		return fmt.Errorf("%w: another stream stores these subjects; choose another subject prefix", err)
	}
	return err
}

func streamConfigs(space subjects.Space, opts StreamOptions) []jetstream.StreamConfig {
	size := opts.MaxBytes
	if size == 0 {
		size = opts.DefaultBytes
	}
	if size == 0 {
		size = DefaultStreamBytes
	}
	base := jetstream.StreamConfig{
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		MaxMsgs:           -1,
		MaxMsgsPerSubject: -1,
		MaxConsumers:      -1,
		MaxMsgSize:        -1,
		Discard:           jetstream.DiscardNew,
		Compression:       jetstream.S2Compression,
		Duplicates:        duplicates,
		Replicas:          max(opts.Replicas, 1),
		AllowDirect:       true,
	}
	ev, dlq, adv := base, base, base
	ev.Name, ev.Subjects, ev.MaxBytes, ev.MaxAge = space.EventStream(), subjects.EventSubjects(space), size, eventAge
	ev.Description = "Hooktrail: events and manifests"
	ev.AllowAtomicPublish = true
	ev.DenyDelete, ev.DenyPurge = !opts.AllowTamper, !opts.AllowTamper

	dlq.Name, dlq.Subjects, dlq.MaxBytes, dlq.MaxAge = space.DeadLetterStream(), subjects.DeadLetterSubjects(space), deadLetterBytes, deadLetterAge
	dlq.Description = "Hooktrail: pointers to messages that a consumer could not handle"
	// A full stream discards its oldest dead letters. Otherwise, it would block the consumer that
	// writes dead letters.
	dlq.Discard = jetstream.DiscardOld
	dlq.DenyPurge = !opts.AllowTamper

	adv.Name, adv.Subjects, adv.MaxBytes, adv.MaxAge = space.AdvisoryStream(), subjects.AdvisorySubjects(space), advisoryBytes, deadLetterAge
	adv.Description = "Hooktrail: alarms about changes to the event stream"
	adv.Discard = jetstream.DiscardOld
	adv.DenyPurge = !opts.AllowTamper
	return []jetstream.StreamConfig{ev, dlq, adv, checkpointConfig(base, space, opts)}
}

// checkpointConfig disables direct reads, because the auditor must read from the stream's leader.
func checkpointConfig(base jetstream.StreamConfig, space subjects.Space, opts StreamOptions) jetstream.StreamConfig {
	base.Name, base.Subjects, base.MaxBytes = space.CheckpointStream(), []string{space.AllCheckpoints()}, checkpointBytes
	base.Description = "Hooktrail: the newest signed checkpoint of each ledger"
	base.MaxMsgsPerSubject = checkpointHistory
	base.AllowAtomicPublish, base.AllowDirect = true, false
	base.DenyDelete, base.DenyPurge = !opts.AllowTamper, !opts.AllowTamper
	return base
}
