package consume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// DeadLetter says which message a consumer could not handle, and why. It points
// into the stream and has none of the message's payload. Fields may be added,
// never renamed.
type DeadLetter struct {
	Consumer string      `json:"consumer"`
	Stream   string      `json:"stream"`
	Created  time.Time   `json:"created"` // of the stream: sequences are unique within it
	Sequence uint64      `json:"sequence"`
	Subject  string      `json:"subject"`
	Tenant   string      `json:"tenant,omitempty"`
	Producer string      `json:"producer,omitempty"`
	Run      string      `json:"run,omitempty"`
	Kind     events.Kind `json:"kind,omitempty"`
	SHA256   string      `json:"sha256"` // of the message's bytes, hex
	Bytes    int         `json:"bytes"`
	Stored   time.Time   `json:"stored"`
	Reason   string      `json:"reason"`
}

// bury moves a message of the batch to the dead letters. It returns once the
// letter is stored, however long that takes, or ctx ends. A crash behind it can
// bury the message twice, never lose it.
func (l *loop) bury(ctx context.Context, in *inbox, poison *Poison) error {
	m, raw, ok := in.take(poison.Sequence)
	if !ok {
		return fmt.Errorf("poison: message %d is not in the batch: %s", poison.Sequence, poison.Reason)
	}
	letter := DeadLetter{
		Consumer: l.durable, Stream: l.opts.Space.EventStream(), Created: l.created,
		Sequence: m.Sequence, Subject: m.Subject,
		Tenant: m.Address.Tenant, Producer: m.Address.Producer, Run: m.Address.Run, Kind: m.Address.Kind,
		SHA256: events.HashOf(m.Data).String(), Bytes: len(m.Data), Stored: m.Stored, Reason: poison.Reason,
	}
	data, err := json.Marshal(letter)
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	subject, err := l.opts.Space.DeadLetter(l.opts.Durable)
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	id := l.durable + " " + strconv.FormatInt(l.created.UnixNano(), 10) + " " + strconv.FormatUint(m.Sequence, 10)
	for failures := 0; ; failures++ {
		err := l.post(ctx, subject, data, id)
		if err == nil {
			break
		}
		err = fmt.Errorf("dead letter for message %d: %w", m.Sequence, because(ctx, err))
		l.log.WarnContext(ctx, "dead letter was not stored", "error", err, "failures", failures+1)
		l.report(err)
		if !pause(backoff(retryFirst, l.opts.RetryMax, failures), ctx.Done()) {
			return err
		}
	}
	l.log.ErrorContext(ctx, "message was dead-lettered",
		"sequence", m.Sequence, "subject", m.Subject, "reason", poison.Reason)
	in.dead = append(in.dead, raw)
	in.reasons = append(in.reasons, oneLine(poison.Reason))
	return nil
}

func (l *loop) post(ctx context.Context, subject string, data []byte, id string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ack, err := l.js.Publish(ctx, subject, data, jetstream.WithMsgID(id))
	if err == nil && ack.Stream != l.opts.Space.DeadLetterStream() {
		return errors.New("it was stored in stream " + ack.Stream)
	}
	return err
}

// oneLine makes a reason fit for an acknowledgement.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
