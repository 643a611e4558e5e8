package atomicbatch

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

func TestOutcomeOf(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want transport.Outcome
	}{
		"Stored":      {nil, transport.OutcomeStored},
		"Lost":        {errNoAnswer, transport.OutcomeUnknown},
		"Cut":         {io.ErrUnexpectedEOF, transport.OutcomeUnknown},
		"Payload":     {nats.ErrMaxPayload, transport.OutcomeRefused},
		"Fence":       {&refusalError{Code: 10071}, transport.OutcomeConflict},
		"Busy":        {&refusalError{Code: 10210}, transport.OutcomeRetry},
		"Crowded":     {&refusalError{Code: 10167}, transport.OutcomeRetry},
		"Full":        {&refusalError{Code: 10077, Description: "maximum bytes exceeded"}, transport.OutcomeRetry},
		"FullDisk":    {&refusalError{Code: 10047}, transport.OutcomeRetry},
		"Large":       {&refusalError{Code: 10077, Description: "message too large"}, transport.OutcomeRefused},
		"Dropped":     {fmt.Errorf("send batch: %w", transport.ErrBusy), transport.OutcomeUnexplained},
		"Unexplained": {&refusalError{Code: 10176}, transport.OutcomeUnexplained},
		"Batch":       {&refusalError{Code: 10199}, transport.OutcomeTooLarge},
		"Wrapped":     {errors.Join(&refusalError{Code: 10054}), transport.OutcomeRefused},
	} {
		if got := outcomeOf(tt.err); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}

func FuzzParseViolation(f *testing.F) {
	for _, subject := range []string{"hooktrail.ev.acme.p.r.custom", "", `a to "b"`, "ü\x00\xff", "$JS.API.>"} {
		f.Add("Publish", subject)
		f.Add("Subscription", subject)
	}
	f.Fuzz(func(t *testing.T, text, subject string) {
		for _, verb := range []string{"Publish", "Subscription"} {
			want := verb + " to " + strconv.Quote(subject)
			action, gotVerb, got := parseViolation(fmt.Errorf("%w: Permissions Violation for %s", nats.ErrPermissionViolation, want))
			if action != want || gotVerb != verb || got != subject {
				t.Errorf("%s: got %q, %q, %q", want, action, gotVerb, got)
			}
		}
		if _, _, got := parseViolation(errors.New(text + " to " + subject)); got != "" {
			t.Errorf("%q is not a violation, got %q", text, got)
		}
		_, _, _ = parseViolation(fmt.Errorf("%w: Permissions Violation for %s", nats.ErrPermissionViolation, text))
	})
}
