package decision

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Client sends requests for decisions to services over NATS, for hooks of the type nats. It is safe
// for concurrent use.
type Client struct {
	Conn  *nats.Conn
	Space subjects.Space
}

// Request implements [hookfile.Requester]. It sends the document to a decision service, and fails
// at once if no service listens on the subject.
//
// [hookfile.Requester]: https://pkg.go.dev/github.com/hooktrail/hooktrail/pkg/hooks/hookfile#Requester
func (c Client) Request(ctx context.Context, tenant, subject string, document []byte) ([]byte, error) {
	if c.Conn == nil || !c.Conn.IsConnected() {
		return nil, hooks.Fault("not connected to NATS")
	}
	if subject == "" {
		var err error
		if subject, err = c.Space.Decisions(tenant); err != nil {
			return nil, hooks.Fault("tenant cannot be asked for")
		}
	}
	msg := nats.NewMsg(subject)
	msg.Data = document
	if deadline, ok := ctx.Deadline(); ok {
		subjects.SetTimeout(msg.Header, time.Until(deadline))
	}
	answer, err := c.Conn.RequestMsgWithContext(ctx, msg)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, hooks.Fault("no decision service there")
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, hooks.Fault("document is too large for NATS")
	case errors.Is(err, nats.ErrTimeout):
		return nil, hooks.ErrTimedOut
	case err != nil:
		return nil, err
	case answer.Header.Get(subjects.ServiceError) != "":
		return nil, hooks.Fault("decision service refused the document")
	}
	return answer.Data, nil
}

// Own reports whether a service of this Hooktrail installation answers decision requests on the
// NATS subject.
func (c Client) Own(subject string) bool {
	_, err := c.Space.DecisionTenant(subject)
	return err == nil
}
