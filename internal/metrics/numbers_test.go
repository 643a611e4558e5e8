package metrics

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Whoever can write events can use the numbers of a producer first. All events count anyway, and
// the second content under a number is an alarm.
//
//guarantee:id-taken
func TestState_ForgedNumbersHideNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		numbers []int // of forged events that arrive first
		want    string
	}{
		"Next":  {[]int{2, 3}, "2"},
		"Later": {[]int{1 << 40}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			recorded := recorded(t)
			all := recorded[:1:1]
			for i, n := range tt.numbers {
				all = append(all, event(t, 50+i, events.Custom, map[string]any{}, from("p", n)))
			}
			if err := apply(t, dir, 100, messages(1, append(all, recorded[1:]...)...)...); err != nil {
				t.Fatal(err)
			}
			want := maps.Clone(recordedValues)
			if tt.want != "" {
				want[`numbers_reused_total["acme"]`] = tt.want
			}
			if diff := cmp.Diff(want, values(t, dir)); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNumbers_ForgetsTheOldest(t *testing.T) {
	n := newNumbers()
	e := events.Event{Tenant: "acme", Producer: "p"}
	for i := range 2 * numbersKept {
		e.Sequence = uint64(i + 1)
		if n.isReused(e, []byte("a")) {
			t.Fatalf("number %d is new", i)
		}
	}
	if len(n.now)+len(n.before) > numbersKept {
		t.Errorf("%d numbers in memory", len(n.now)+len(n.before))
	}
	if !n.isReused(e, []byte("b")) || n.isReused(e, []byte("a")) {
		t.Error("the latest number was forgotten")
	}
	if e.Sequence = 0; n.isReused(e, []byte("a")) || n.isReused(e, []byte("b")) {
		t.Error("an event without a number has one")
	}
}
