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
	// ErrBusy means that the server dropped a message, so the batch is not stored. A smaller batch may
	// be.
	ErrBusy = errors.New("the server drops messages, because too many wait for the stream")
)

// Message is one message of a batch.
type Message struct {
	Subject  string
	Data     []byte
	IsFenced bool   // store the batch only if Fence is the last sequence on the subject
	Fence    uint64 // 0 if the subject must be empty
}

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

// Sender sends atomic batches. Only one goroutine may use it.
type Sender struct {
	nc      *nats.Conn
	link    *Link
	inbox   string
	replies chan *nats.Msg
	sub     *nats.Subscription
	wait    time.Duration
}

// NewSender returns a sender that waits at most timeout for each answer. Close it before nc and
// link.
func NewSender(nc *nats.Conn, link *Link, timeout time.Duration) (*Sender, error) {
	s := &Sender{nc: nc, link: link, inbox: nc.NewInbox(), replies: make(chan *nats.Msg, 64), wait: timeout}
	sub, err := nc.ChanSubscribe(s.inbox+".*", s.replies)
	if err != nil {
		return nil, fmt.Errorf("subscribe to answers: %w", err)
	}
	s.sub = sub
	return s, nil
}

// Send stores all messages or none, and returns the stream sequence of the last one. See
// [OutcomeOf] for errors.
func (s *Sender) Send(ctx context.Context, messages []Message) (uint64, error) {
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
	messages   []Message
	violations violations
}

func (a attempt) concerns(subject string) bool {
	return slices.ContainsFunc(a.messages, func(m Message) bool { return m.Subject == subject })
}

func (s *Sender) answer(ctx context.Context, sent attempt, lost <-chan struct{}) (uint64, error) {
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
		return ErrBusy
	}
	return errNoStream
}

func (s *Sender) explain(err error, sent attempt) error {
	if OutcomeOf(err) != OutcomeUnexplained {
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

// Close ends the subscription for answers.
func (s *Sender) Close() {
	_ = s.sub.Unsubscribe() // fails if the caller has closed the connection
}
