package provider_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/provider"
)

// A tenant whose rules never arrive does not block other tenants.
func TestTenants_OneThatHangs(t *testing.T) {
	r := hooks.NewRegistry(hooks.Options{})
	asked, hang := make(chan struct{}), make(chan struct{})
	tenants := provider.Tenants(func(tenant string) (any, error) {
		if tenant == "slow" {
			close(asked)
			<-hang
		}
		return &verdicts{verdict: hooks.Allow}, nil
	}, hooks.Options{})
	if _, err := r.Use(tenants, hooks.Timeout(200*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	verdict := func(tenant string) hooks.Verdict {
		return hooks.ToolBefore.Dispatch(t.Context(), r, hooks.Meta{Tenant: tenant}, hooks.ToolCall{}).Verdict
	}
	slow := make(chan hooks.Verdict)
	go func() { slow <- verdict("slow") }()
	<-asked
	if got := verdict("quick"); got != hooks.Allow {
		t.Errorf("the other tenant gets %s", got)
	}
	if got := <-slow; got != hooks.Deny {
		t.Errorf("without rules: %s", got)
	}
	if got := verdict("slow"); got != hooks.Deny { // waits for the first caller, and gives up
		t.Errorf("still without rules: %s", got)
	}
	close(hang)
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := verdict("slow"); got != hooks.Allow {
		t.Errorf("with rules: %s", got)
	}
}

// After a panic in a tenant's rules, they are requested again.
func TestTenants_RulesPanic(t *testing.T) {
	r := hooks.NewRegistry(hooks.Options{})
	calls := 0
	if _, err := r.Use(provider.Tenants(func(string) (any, error) {
		if calls++; calls == 1 {
			panic("no rules yet")
		}
		return &verdicts{verdict: hooks.Allow}, nil
	}, hooks.Options{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []hooks.Verdict{hooks.Deny, hooks.Allow} {
		if got := hooks.ToolBefore.Dispatch(t.Context(), r, hooks.Meta{Tenant: "a"}, hooks.ToolCall{}).Verdict; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

type elsewhere struct{}

func (elsewhere) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	return []hooks.ID{hooks.MessageCreate.On(r, func(context.Context, hooks.Meta, hooks.NoSubject, hooks.JSON) (*hooks.JSON, error) {
		return nil, nil
	}, opts...)}, r.Err()
}

func TestNested_PointsOutOfReach(t *testing.T) {
	r := hooks.NewRegistry(hooks.Options{})
	if _, err := r.Use(provider.Composite(provider.FirstNonNil, elsewhere{})); err == nil || !strings.Contains(err.Error(), "message.create") {
		t.Errorf("got %v", err)
	}
	if _, err := r.Use(provider.Tenants(func(string) (any, error) { return elsewhere{}, nil }, hooks.Options{})); err != nil {
		t.Fatal(err)
	}
	if out := hooks.ToolBefore.Dispatch(t.Context(), r, hooks.Meta{Tenant: "a"}, hooks.ToolCall{}); out.Verdict != hooks.Deny {
		t.Errorf("rules that are not asked: %s", out.Verdict)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A pipe in place of a file blocks no hook.
func TestContext_Pipes(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, ".squad", "agents", "coder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"decisions.md", "agents/coder/history.md"} {
		if err := syscall.Mkfifo(filepath.Join(root, ".squad", name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := provider.NewContext(provider.ContextOptions{})
	meta := hooks.Meta{TeamRoot: root, Agent: "coder"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if d, err := c.SessionStart(context.Background(), meta, hooks.Session{}); d != nil || err != nil {
			t.Errorf("session starts with %+v, %v", d, err)
		}
		if _, err := c.PromptSubmitted(context.Background(), meta, hooks.Prompt{Text: "Always run the tests."}); err == nil {
			t.Error("a decision was kept in a pipe")
		}
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("blocked")
	}
}
