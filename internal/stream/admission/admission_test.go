package admission_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/admission"
)

func list(tenants ...string) func() ([]string, error) {
	return func() ([]string, error) { return tenants, nil }
}

//guarantee:tenant-flood
func TestPolicy_Limit(t *testing.T) {
	p := admission.New(admission.Options{Limit: 3, Known: list("key", "both"), Present: []string{"old", "both"}})
	for range 2 { // an accepted tenant stays accepted
		for _, tenant := range []string{"default", "key", "both", "old", "new-1", "new-2"} {
			if err := p.Admit(tenant); err != nil {
				t.Errorf("%s: %v", tenant, err)
			}
		}
		for i := range 1000 {
			err := p.Admit(fmt.Sprintf("flood-%d", i))
			if !errors.Is(err, admission.ErrTenant) || !strings.Contains(err.Error(), "--open-tenants") {
				t.Fatalf("tenant %d: got %v", i, err)
			}
		}
	}
}

func TestPolicy_None(t *testing.T) {
	if err := (*admission.Policy)(nil).Admit("any"); err != nil {
		t.Error(err)
	}
	p := admission.New(admission.Options{})
	if err := p.Admit("any"); !errors.Is(err, admission.ErrTenant) {
		t.Errorf("got %v", err)
	}
	if err := p.Admit("default"); err != nil {
		t.Error(err)
	}
}

// A tenant that gets a key is accepted without a restart, and frees its place.
func TestPolicy_BecomesKnown(t *testing.T) {
	now, known := time.Unix(0, 0), []string(nil)
	p := admission.New(admission.Options{
		Limit: 1, Known: func() ([]string, error) { return known, nil }, Now: func() time.Time { return now },
	})
	if err := p.Admit("first"); err != nil {
		t.Fatal(err)
	}
	known = []string{"first", "second"}
	if err := p.Admit("second"); err == nil {
		t.Error("the sources were read again at once")
	}
	now = now.Add(time.Second)
	if err := errors.Join(p.Admit("second"), p.Admit("third")); err != nil {
		t.Error(err)
	}
	if err := p.Admit("fourth"); err == nil {
		t.Error("the place was given away twice")
	}
}

// If a file cannot be read, the error names it, and tenants from other files are accepted.
func TestPolicy_Unreadable(t *testing.T) {
	p := admission.New(admission.Options{Known: func() ([]string, error) { return []string{"one"}, errors.New("broken file") }})
	if err := p.Admit("one"); err != nil {
		t.Error(err)
	}
	if err := p.Admit("two"); !errors.Is(err, admission.ErrTenant) || !strings.Contains(err.Error(), "broken file") {
		t.Errorf("got %v", err)
	}
}
