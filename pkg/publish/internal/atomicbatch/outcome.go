package atomicbatch

import (
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
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

// Outcome classifies the result of a batch.
type Outcome int

// The outcomes.
const (
	OutcomeStored      Outcome = iota
	OutcomeRetry               // not stored, for a reason outside of the batch
	OutcomeUnknown             // possibly stored, because the answer is missing
	OutcomeConflict            // not stored, because the fence failed
	OutcomeRefused             // not stored, but the server may accept parts of the batch
	OutcomeUnexplained         // not stored, for an unknown reason
	OutcomeTooLarge            // not stored, but the server accepts smaller batches
)

// OutcomeOf classifies the error of [Sender.Send].
func OutcomeOf(err error) Outcome {
	var refusal *refusalError
	switch {
	case err == nil:
		return OutcomeStored
	case errors.Is(err, nats.ErrMaxPayload):
		return OutcomeRefused
	case errors.Is(err, errNoStream), errors.Is(err, ErrBusy):
		return OutcomeUnexplained
	case !errors.As(err, &refusal):
		return OutcomeUnknown
	}
	switch refusal.Code {
	case codeWrongLast, codeWrongLastConstant:
		return OutcomeConflict
	case codeIncompleteBatch:
		if errors.Is(err, ErrPermission) {
			return OutcomeRetry // a missing permission must not lose the event
		}
		return OutcomeUnexplained
	case codeTooLargeBatch:
		return OutcomeTooLarge
	case codeMessageTooLarge, codeHeaderTooLarge, codeDuplicate:
		return OutcomeRefused
	case codeStoreFailed:
		if strings.Contains(refusal.Description, "message too large") {
			return OutcomeRefused
		}
	}
	return OutcomeRetry
}
