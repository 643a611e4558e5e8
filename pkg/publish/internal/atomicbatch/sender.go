package atomicbatch

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

	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

const (
	headerBatch    = "Nats-Batch-Id"
	headerSequence = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
	headerFence    = "Nats-Expected-Last-Subject-Sequence"

	statusBusy = "429"
)

var (
	// errNoAnswer means that no valid answer came, so the batch may be stored or not.
	errNoAnswer = errors.New("batch was not answered")
	// errNoStream means that nobody received the batch, so it is certainly not stored.
	errNoStream = errors.New("no stream takes the batch's subjects, or the stream is unavailable")
)

type answer struct {
	Stream   string        `json:"stream"`
	Sequence uint64        `json:"seq"` // of the last message
	Count    int           `json:"count"`
	Error    *refusalError `json:"error"`
}

type refusalError struct {
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

// Error returns the description and code of the server.
func (e *refusalError) Error() string {
	return e.Description + " (" + strconv.Itoa(e.Code) + ")"
}

// sender implements [transport.Sender].
type sender struct {
	nc      *nats.Conn
	link    transport.Link
	inbox   string
	replies chan *nats.Msg
	sub     *nats.Subscription
	wait    time.Duration
}

func newSender(nc *nats.Conn, link transport.Link, timeout time.Duration) (*sender, error) {
	s := &sender{nc: nc, link: link, inbox: nc.NewInbox(), replies: make(chan *nats.Msg, 64), wait: timeout}
	sub, err := nc.ChanSubscribe(s.inbox+".*", s.replies)
	if err != nil {
		return nil, fmt.Errorf("subscribe to answers: %w", err)
	}
	s.sub = sub
	return s, nil
}

// Outcome implements [transport.Sender].
func (s *sender) Outcome(err error) transport.Outcome { return outcomeOf(err) }

// Send implements [transport.Sender].
func (s *sender) Send(ctx context.Context, messages []transport.Message) (uint64, error) {
	lost := s.link.Lost()
	id := nuid.Next()
	reply := s.inbox + "." + id
	sent := attempt{reply: reply, messages: messages, violations: violationsSince(s.nc)}
	for i, m := range messages {
		msg := nats.Msg{Subject: m.Subject, Data: m.Data, Header: nats.Header{
			headerBatch: {id}, headerSequence: {strconv.Itoa(i + 1)},
		}}
		if m.IsFenced {
			msg.Header[headerFence] = []string{strconv.FormatUint(m.Fence, 10)}
		}
		if i == 0 {
			msg.Reply = reply // the server answers at once if no batch can begin
		}
		if i == len(messages)-1 {
			msg.Header[headerCommit], msg.Reply = []string{"1"}, reply
		}
		if err := s.nc.PublishMsg(&msg); err != nil {
			return 0, fmt.Errorf("send batch: %w", err)
		}
	}
	return s.answer(ctx, sent, lost)
}

type attempt struct {
	reply      string
	messages   []transport.Message
	violations violations
}

func (a attempt) concerns(subject string) bool {
	return slices.ContainsFunc(a.messages, func(m transport.Message) bool { return m.Subject == subject })
}

func (s *sender) answer(ctx context.Context, sent attempt, lost <-chan struct{}) (uint64, error) {
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	late := time.NewTimer(overdue)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", errNoAnswer, ctx.Err())
		case <-lost:
			return 0, fmt.Errorf("%w: connection lost", errNoAnswer)
		case <-timer.C:
			return 0, fmt.Errorf("%w: within %v", errNoAnswer, s.wait)
		case <-late.C:
			if err := sent.violations.ask(ctx, s.inbox, sent.concerns); err != nil {
				return 0, fmt.Errorf("%w: %w", errNoAnswer, err)
			}
			late.Reset(askAgain)
		case msg := <-s.replies:
			switch status := msg.Header.Get("Status"); {
			case msg.Subject != sent.reply || len(msg.Data) == 0 && status == "":
				continue // the answer to an earlier batch or to the first message of this batch
			case status != "":
				return 0, fmt.Errorf("send batch: %w", statusError(status))
			}
			sequence, err := parseAnswer(msg.Data, len(sent.messages))
			return sequence, s.explain(err, sent)
		}
	}
}

func statusError(status string) error {
	if status == statusBusy {
		return transport.ErrBusy
	}
	return errNoStream
}

func (s *sender) explain(err error, sent attempt) error {
	if outcomeOf(err) != transport.OutcomeUnexplained {
		return err
	}
	if violation := sent.violations.about(s.inbox, sent.concerns); violation != nil {
		return fmt.Errorf("%w: %w", err, violation)
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

// Close implements [transport.Sender].
func (s *sender) Close() {
	_ = s.sub.Unsubscribe() // fails if the caller has closed the connection
}
