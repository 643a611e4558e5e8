package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// Headers of atomic batches and of the fence.
const (
	headerBatch    = "Nats-Batch-Id"
	headerSequence = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
	headerFence    = "Nats-Expected-Last-Subject-Sequence"
)

var (
	// errNoAnswer is wrapped when it cannot be told whether a batch was stored.
	errNoAnswer = errors.New("batch was not answered")
	// errNobody is returned when no stream takes a message: nothing was stored.
	errNobody = errors.New("no stream takes the batch's subjects, or it is not there")
)

// message is one message of a batch.
type message struct {
	subject string
	data    []byte
	fenced  bool   // stored only if fence is the last sequence on its subject
	fence   uint64 // 0: there is none
}

// answer is what the server says of a batch.
type answer struct {
	Stream   string        `json:"stream"`
	Sequence uint64        `json:"seq"` // of the last message
	Count    int           `json:"count"`
	Error    *refusalError `json:"error"`
}

// refusalError is the server's reason not to store a batch.
type refusalError struct {
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

// Error returns the server's own words.
func (e *refusalError) Error() string {
	return e.Description + " (" + strconv.Itoa(e.Code) + ")"
}

// batcher sends atomic batches, one at a time.
type batcher struct {
	nc      *nats.Conn
	link    *link
	inbox   string
	replies chan *nats.Msg
	sub     *nats.Subscription
	wait    time.Duration
}

func newBatcher(nc *nats.Conn, l *link, wait time.Duration) (*batcher, error) {
	b := &batcher{nc: nc, link: l, inbox: nc.NewInbox(), replies: make(chan *nats.Msg, 64), wait: wait}
	sub, err := nc.ChanSubscribe(b.inbox+".*", b.replies)
	if err != nil {
		return nil, fmt.Errorf("subscribe to answers: %w", err)
	}
	b.sub = sub
	return b, nil
}

// send stores messages, all or none, and returns the stream sequence of the
// last one. Whatever the server says of an earlier attempt is not heard: each
// has an id, and a subject for its answers, of its own.
func (b *batcher) send(ctx context.Context, messages []message) (uint64, error) {
	down := b.link.down()
	id := nuid.Next()
	reply := b.inbox + "." + id
	sent := attempt{reply: reply, messages: messages, refusals: refusalsFrom(b.nc)}
	for i, m := range messages {
		msg := nats.Msg{Subject: m.subject, Data: m.data, Header: nats.Header{
			headerBatch: {id}, headerSequence: {strconv.Itoa(i + 1)},
		}}
		if m.fenced {
			msg.Header[headerFence] = []string{strconv.FormatUint(m.fence, 10)}
		}
		if i == 0 {
			msg.Reply = reply // says at once if no batch can begin
		}
		if i == len(messages)-1 {
			msg.Header[headerCommit], msg.Reply = []string{"1"}, reply
		}
		if err := b.nc.PublishMsg(&msg); err != nil {
			return 0, fmt.Errorf("send batch: %w", err)
		}
	}
	return b.answer(ctx, sent, down)
}

// attempt is a batch on its way.
type attempt struct {
	reply    string
	messages []message
	refusals refusals
}

// concerns tells whether a message of the batch is on subject.
func (a attempt) concerns(subject string) bool {
	return slices.ContainsFunc(a.messages, func(m message) bool { return m.subject == subject })
}

// answer waits for the server's word on a batch, until the connection is lost.
func (b *batcher) answer(ctx context.Context, sent attempt, down <-chan struct{}) (uint64, error) {
	timer := time.NewTimer(b.wait)
	defer timer.Stop()
	late := time.NewTimer(overdue)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", errNoAnswer, ctx.Err())
		case <-down:
			return 0, fmt.Errorf("%w: connection lost", errNoAnswer)
		case <-timer.C:
			return 0, fmt.Errorf("%w: within %v", errNoAnswer, b.wait)
		case <-late.C:
			if err := sent.refusals.ask(ctx, b.inbox, sent.concerns); err != nil {
				return 0, fmt.Errorf("%w: %w", errNoAnswer, err)
			}
			late.Reset(askAgain)
		case msg := <-b.replies:
			switch status := msg.Header.Get("Status"); {
			case msg.Subject != sent.reply || len(msg.Data) == 0 && status == "":
				continue // of an earlier batch, or the beginning of this one
			case status != "":
				return 0, fmt.Errorf("send batch: %w", errNobody)
			}
			sequence, err := parseAnswer(msg.Data, len(sent.messages))
			return sequence, b.explain(err, sent)
		}
	}
}

// explain adds to an answer without a reason what the server has refused, which
// it reported before it answered.
func (b *batcher) explain(err error, sent attempt) error {
	if outcomeOf(err) != outcomeObscure {
		return err
	}
	if refused := sent.refusals.about(b.inbox, sent.concerns); refused != nil {
		return fmt.Errorf("%w: %w", err, refused)
	}
	return err
}

func parseAnswer(data []byte, count int) (uint64, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return 0, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if a.Error != nil {
		return 0, fmt.Errorf("send batch: %w", a.Error)
	}
	if a.Count != count {
		return 0, fmt.Errorf("%w: %d of %d messages acknowledged", errNoAnswer, a.Count, count)
	}
	return a.Sequence, nil
}

func (b *batcher) close() {
	_ = b.sub.Unsubscribe() // the connection is the caller's and may be closed
}
