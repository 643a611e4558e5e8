package atomicbatch

import (
	"errors"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

// Error codes of nats-server.
const (
	codeWrongLast         = 10071 // another message is the last one on the subject
	codeWrongLastConstant = 10164 // like codeWrongLast, while another batch is in progress
	codeIncompleteBatch   = 10176 // the server does not give the cause
	codeTooLargeBatch     = 10199
	codeDuplicate         = 10201
	codeMessageTooLarge   = 10054
	codeHeaderTooLarge    = 10097
	codeStoreFailed       = 10077 // a limit of the stream was reached, or its disk failed
)

func outcomeOf(err error) transport.Outcome {
	var refusal *refusalError
	switch {
	case err == nil:
		return transport.OutcomeStored
	case errors.Is(err, nats.ErrMaxPayload):
		return transport.OutcomeRefused
	case errors.Is(err, errNoStream), errors.Is(err, transport.ErrBusy):
		return transport.OutcomeUnexplained
	case !errors.As(err, &refusal):
		return transport.OutcomeUnknown
	}
	switch refusal.Code {
	case codeWrongLast, codeWrongLastConstant:
		return transport.OutcomeConflict
	case codeIncompleteBatch:
		if errors.Is(err, transport.ErrPermission) {
			return transport.OutcomeRetry // a missing permission must not lose the event
		}
		return transport.OutcomeUnexplained
	case codeTooLargeBatch:
		return transport.OutcomeTooLarge
	case codeMessageTooLarge, codeHeaderTooLarge, codeDuplicate:
		return transport.OutcomeRefused
	case codeStoreFailed:
		if strings.Contains(refusal.Description, "message too large") {
			return transport.OutcomeRefused
		}
	}
	return transport.OutcomeRetry
}
