package anchor

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness"
)

//guarantee:witness-fails
func TestBackoff_Pauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBackoff(Options{}.withDefaults())
		at, other, next := target{"acme", 0}, target{"other", 0}, target{"acme", 1}
		asked := func(at target) bool { _, err := s.size(at); return err == nil }
		broken := fmt.Errorf("broken")
		for _, seconds := range []int64{1, 2, 4, 8, 16, 32, 60, 60} {
			pause := time.Duration(seconds * 1e9)
			s.failed(t.Context(), at, broken, "W0")
			if asked(at) || asked(other) || !asked(next) {
				t.Fatalf("after a failure: got %v, %v, %v", asked(at), asked(other), asked(next))
			}
			time.Sleep(pause - time.Nanosecond)
			if asked(at) {
				t.Fatalf("asked before %v", pause)
			}
			time.Sleep(time.Nanosecond)
			if !asked(at) {
				t.Fatalf("not asked after %v", pause)
			}
		}
		s.succeeded(t.Context(), at, 7, "W0")
		if size, err := s.size(at); size != 7 || err != nil {
			t.Errorf("got %d, %v", size, err)
		}
		// A witness that refuses one ledger is still asked about others.
		for _, refusal := range []error{witness.ErrForked, witness.ErrUnknownLog} {
			s.failed(t.Context(), at, refusal, "W0")
			if asked(at) || !asked(other) {
				t.Errorf("after %v: got %v, %v", refusal, asked(at), asked(other))
			}
			s.succeeded(t.Context(), at, 7, "W0")
		}
	})
}
