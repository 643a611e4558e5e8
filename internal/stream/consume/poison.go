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

// DeadLetter describes a message that a consumer could not apply. It does not contain the payload.
// Later versions may add fields but never rename them.
type DeadLetter struct {
	Consumer string `json:"consumer"`
	Stream   string `json:"stream"`
	// Created is the creation time of the stream. It distinguishes streams with the same name,
	// because every stream numbers its messages from 1.
	Created  time.Time   `json:"created"`
	Sequence uint64      `json:"sequence"`
	Subject  string      `json:"subject"`
	Tenant   string      `json:"tenant,omitempty"`
	Producer string      `json:"producer,omitempty"`
	Run      string      `json:"run,omitempty"`
	Kind     events.Kind `json:"kind,omitempty"`
	SHA256   string      `json:"sha256"` // of the message, in hex
	Bytes    int         `json:"bytes"`
	Stored   time.Time   `json:"stored"`
	Reason   string      `json:"reason"`
}

// deadLetter publishes the letter before the position is stored. A crash in between can duplicate
// the letter, but not lose it.
func (l *loop) deadLetter(ctx context.Context, b *batch, poison *Poison) error {
	m, raw, ok := b.take(poison.Sequence)
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
	id := l.durable + " " + strconv.FormatInt(l.created.UnixNano(), 10) + " " + strconv.FormatUint(m.Sequence, 10)
	for failures := 0; ; failures++ {
		err := l.publishLetter(ctx, data, id)
		if err == nil {
			break
		}
		err = fmt.Errorf("dead letter for message %d: %w", m.Sequence, causeOf(ctx, err))
		l.log.WarnContext(ctx, "dead letter not stored", "error", err, "failures", failures+1)
		l.report(err)
		if !pause(backoff(retryFirst, l.opts.RetryMax, failures), ctx.Done()) {
			return err
		}
	}
	l.log.ErrorContext(ctx, "message dead-lettered",
		"sequence", m.Sequence, "subject", m.Subject, "reason", poison.Reason)
	b.dead = append(b.dead, raw)
	b.reasons = append(b.reasons, oneLine(poison.Reason))
	return nil
}

func (l *loop) publishLetter(ctx context.Context, data []byte, id string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ack, err := l.js.Publish(ctx, l.letters, data, jetstream.WithMsgID(id))
	if err == nil && ack.Stream != l.opts.Space.DeadLetterStream() {
		return errors.New("stored in the wrong stream " + ack.Stream)
	}
	return err
}

// oneLine removes line breaks, because the reason in a NATS acknowledgement must not contain them.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
