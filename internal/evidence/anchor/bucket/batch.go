package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Error codes of the NATS server. The first two mean that another process wrote first.
const (
	codeWrongLast      = 10071
	codeWrongLastBatch = 10164
	codeStoreFailed    = 10077 // the reason is in the description
)

// errUnanswered means that the server may or may not have stored a write.
var errUnanswered = errors.New("no answer")

type write struct {
	subject  string
	data     []byte
	revision uint64
}

func (b *Bucket) put(ctx context.Context, w write) (uint64, error) {
	ack, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: w.subject, Data: w.data},
		jetstream.WithExpectLastSequencePerSubject(w.revision), jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, fmt.Errorf("write to bucket %s: %w", b.Name(), refusal(err))
	}
	return ack.Sequence, nil
}

func (b *Bucket) putAll(ctx context.Context, writes []write) (uint64, error) {
	nc := b.js.Conn()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return 0, fmt.Errorf("write to bucket %s: %w", b.Name(), err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	id := nuid.Next()
	for i, w := range writes {
		msg := nats.Msg{Subject: w.subject, Data: w.data, Header: nats.Header{
			subjects.BatchID: {id}, subjects.BatchSequence: {strconv.Itoa(i + 1)},
			subjects.ExpectedLastSubjectSequence: {strconv.FormatUint(w.revision, 10)},
		}}
		if i == 0 {
			// The server reports a refused batch in its reply to the first message.
			msg.Reply = inbox
		}
		if i == len(writes)-1 {
			msg.Header[subjects.BatchCommit], msg.Reply = []string{subjects.Commit}, inbox
		}
		if err := nc.PublishMsg(&msg); err != nil {
			return 0, fmt.Errorf("write to bucket %s: %w", b.Name(), err)
		}
	}
	last, err := answer(ctx, sub, len(writes))
	if err != nil {
		return 0, fmt.Errorf("write to bucket %s: %w", b.Name(), refusal(err))
	}
	return last, nil
}

func answer(ctx context.Context, sub *nats.Subscription, count int) (uint64, error) {
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", errUnanswered, err)
		}
		switch status := msg.Header.Get("Status"); {
		case status != "":
			return 0, fmt.Errorf("%w: status %s", errUnanswered, status)
		case len(msg.Data) == 0:
			continue // answer to the first message
		}
		return parseAnswer(msg.Data, count)
	}
}

func parseAnswer(data []byte, count int) (uint64, error) {
	var a struct {
		Sequence uint64              `json:"seq"`
		Count    int                 `json:"count"`
		Error    *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(data, &a); {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", errUnanswered, err)
	case a.Error != nil:
		return 0, a.Error
	case a.Count != count || a.Sequence < uint64(count):
		return 0, fmt.Errorf("%w: %d of %d writes acknowledged", errUnanswered, a.Count, count)
	}
	return a.Sequence, nil
}

func refusal(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeWrongLastBatch) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return explain(err)
}
