package deferred_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

// A sample has its items, or says only whether it has any.
type sample struct {
	Text     string   `json:"text"`
	Items    []string `json:"items"`
	Deferred bool     `json:"deferred"`
	Why      string   `json:"why"`
	Split    string   `json:"split"` // "dev" was used to make the cues, "held-out" was not
}

func samples(t *testing.T) []sample {
	t.Helper()
	data, err := os.ReadFile("testdata/sentences.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	for line := range bytes.Lines(data) {
		var s sample
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		s.Deferred = s.Deferred || len(s.Items) > 0
		out = append(out, s)
	}
	return out
}

type score struct{ hits, inventions, misses, rejections int }

func (s *score) add(want, got bool) {
	switch {
	case want && got:
		s.hits++
	case got:
		s.inventions++
	case want:
		s.misses++
	default:
		s.rejections++
	}
}

func (s score) merge(o score) score {
	return score{s.hits + o.hits, s.inventions + o.inventions, s.misses + o.misses, s.rejections + o.rejections}
}

func (s score) precision() float64 { return ratio(s.hits, s.inventions) }
func (s score) recall() float64    { return ratio(s.hits, s.misses) }

func ratio(good, bad int) float64 {
	if good+bad == 0 {
		return 1
	}
	return float64(good) / float64(good+bad)
}

func (s score) check(t *testing.T, what string, precision, recall float64) {
	t.Helper()
	t.Logf("%-22s %4d texts, precision %.3f, recall %.3f (%d found, %d invented, %d missed)", what,
		s.hits+s.inventions+s.misses+s.rejections, s.precision(), s.recall(), s.hits, s.inventions, s.misses)
	if s.precision() < precision || s.recall() < recall {
		t.Errorf("%s: want precision %.2f and recall %.2f", what, precision, recall)
	}
}

const precision, recall = 0.9, 0.8

// TestCorpus measures the labelled texts. It does not list errors of held-out texts, because the
// cues must not be tuned with them.
func TestCorpus(t *testing.T) {
	texts, items := make(map[string]score), make(map[string]score)
	for _, s := range samples(t) {
		got := deferred.Items(s.Text)
		n := texts[s.Split]
		n.add(s.Deferred, len(got) > 0)
		texts[s.Split] = n
		if s.Deferred != (len(got) > 0) && s.Split == "dev" {
			t.Logf("%s: got %q of %q", s.Why, got, s.Text)
		}
		if s.Items == nil {
			continue
		}
		n = items[s.Split]
		same := compare(&n, s.Items, got)
		items[s.Split] = n
		if !same && len(got) > 0 && s.Deferred && s.Split == "dev" {
			t.Logf("%s: want items %q, got %q", s.Why, s.Items, got)
		}
	}
	texts["dev"].check(t, "own, dev", precision, recall)
	texts["held-out"].check(t, "own, held-out", precision, recall)
	texts["dev"].merge(texts["held-out"]).check(t, "own, all", precision, recall)
	items["dev"].check(t, "items, dev", precision, recall)
	items["held-out"].check(t, "items, held-out", precision, recall)
}

func compare(n *score, want, got []string) bool {
	same := len(want) == len(got)
	left := make(map[string]bool)
	for _, item := range want {
		left[deferred.Key(item)] = true
	}
	for _, item := range got {
		found := left[deferred.Key(item)]
		delete(left, deferred.Key(item))
		n.add(found, true)
		same = same && found
	}
	for range left {
		n.add(true, false)
	}
	return same
}
