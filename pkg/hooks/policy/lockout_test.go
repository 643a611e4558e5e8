package policy_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

func lockedOut(agent, artifact string) string {
	return `Reviewer lockout: Agent "` + agent + `" is locked out of artifact "` + artifact + `". Another reviewer must handle this artifact.`
}

func TestReviewerLockout_Registry(t *testing.T) {
	p := must(policy.NewReviewerLockout(strict))(t)
	p.Lockout("a.go", "Backend")
	p.Lockout("a.go", "Backend")
	p.Lockout("a.go", "Tester")
	p.Lockout("b.go", "Backend")
	p.Lockout("", "Backend")
	p.Lockout("c.go", "")
	if diff := cmp.Diff([]string{"Backend", "Tester"}, p.LockedAgents("a.go")); diff != "" {
		t.Errorf("locked agents (-want +got):\n%s", diff)
	}
	if !p.IsLockedOut("a.go", "Tester") || p.IsLockedOut("b.go", "Tester") || p.IsLockedOut("c.go", "") {
		t.Error("the wrong agents are locked out")
	}
	p.ClearLockout("a.go")
	if p.IsLockedOut("a.go", "Backend") || !p.IsLockedOut("b.go", "Backend") || len(p.LockedAgents("a.go")) > 0 {
		t.Error("clearing one artifact cleared another, or nothing")
	}
	p.ClearAll()
	if p.IsLockedOut("b.go", "Backend") {
		t.Error("clearing all left a lock")
	}
}

func TestReviewerLockout_Compat(t *testing.T) {
	p := must(policy.NewReviewerLockout(compat))(t)
	p.Lockout("src/auth.ts", "Backend")
	backend := hooks.Meta{Agent: "Backend"}
	want := lockedOut("Backend", "src/auth.ts")
	ask(t, p, []asked{
		{meta: backend, tool: "edit", args: `{"path":"src/auth.ts"}`, want: want},
		{meta: backend, tool: "write_file", args: `{"file_path":"/repo/src/auth.ts.bak"}`, want: want}, // a part of the text is enough
		{meta: backend, tool: "edit", args: `{"path":"auth"}`, want: want},
		{meta: backend, tool: "edit", args: `{"path":"src/other.ts"}`},
		{meta: backend, tool: "Edit", args: `{"path":"src/auth.ts"}`},
		{meta: hooks.Meta{Agent: "Frontend"}, tool: "edit", args: `{"path":"src/auth.ts"}`},
	})
}

func TestReviewerLockout_Strict(t *testing.T) {
	p := must(policy.NewReviewerLockout(strict))(t)
	p.Lockout("src/auth.ts", "Backend")
	p.Lockout("docs", "Backend")
	p.Lockout("api/**/*.yaml", "Backend")
	backend := hooks.Meta{Agent: "Backend", TeamRoot: "/repo"}
	auth := lockedOut("Backend", "src/auth.ts")
	ask(t, p, []asked{
		{meta: backend, tool: "Edit", args: `{"file_path":"/repo/src/auth.ts"}`, want: auth},
		{meta: backend, tool: "replace", args: `{"file_path":"./src/x/../auth.ts"}`, want: auth},
		{meta: backend, tool: "edit", args: `{"path":"auth.ts"}`, want: auth},
		{meta: backend, tool: "edit", args: `{"path":"/elsewhere/src/auth.ts"}`, want: auth},
		{meta: backend, tool: "apply_patch", args: `{"input":"*** Update File: src/auth.ts\n"}`, want: auth},
		{meta: backend, tool: "Write", args: `{"file_path":"docs/a/b.md"}`, want: lockedOut("Backend", "docs")},
		{meta: backend, tool: "Write", args: `{"file_path":"api/v1/x.yaml"}`, want: lockedOut("Backend", "api/**/*.yaml")},
		{meta: backend, tool: "Edit", args: `{"file_path":"src/auth.ts.bak"}`},
		{meta: backend, tool: "Edit", args: `{"file_path":"auth"}`},
		{meta: backend, tool: "Write", args: `{"file_path":"mydocs/a.md"}`},
		{meta: backend, tool: "Read", args: `{"file_path":"src/auth.ts"}`},
		{meta: hooks.Meta{Agent: "Frontend"}, tool: "Edit", args: `{"file_path":"src/auth.ts"}`},
	})
}

func TestReviewerLockout_Concurrent(t *testing.T) {
	p := must(policy.NewReviewerLockout(strict))(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				p.Lockout("a.go", "Backend")
				_, err := p.PreToolUse(t.Context(), hooks.Meta{Agent: "Backend"}, hooks.ToolCall{Tool: "Edit", Args: `{"path":"a.go"}`})
				if err != nil {
					t.Error(err)
				}
				p.ClearLockout("a.go")
			}
		})
	}
	wg.Wait()
	if p.IsLockedOut("a.go", "Backend") {
		t.Error("the last clearing left a lock")
	}
}
