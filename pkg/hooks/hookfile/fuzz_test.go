package hookfile

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// FuzzParse checks that each problem has a position in the file, and that a valid file loads.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "    - ") {
			f.Add([]byte("hooks:\n  PreToolUse:\n" + line))
		}
	}
	for _, s := range []string{"", "~", "hooks: &x {PreToolUse: *x}", "hooks: {PreToolUse: [{type: !!binary zz}]}", "? [a]\n: b", "\xff\xfe\x00", "hooks:\n  <<: *x", "a: |\n  b\n---\n", "policies: {blockedCommands: [a], mode: strict}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f.yaml", data)
		if err != nil {
			invalid, ok := errors.AsType[*InvalidError](err)
			if !ok || file != nil || len(invalid.Problems) == 0 {
				t.Fatalf("got %v, %v", file, err)
			}
			lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + strings.Count(string(data), "\u0085") +
				strings.Count(string(data), "\u2028") + strings.Count(string(data), "\u2029") + 2
			for _, p := range invalid.Problems {
				if p.File != "f.yaml" || p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" {
					t.Fatalf("problem without a place: %+v", p)
				}
			}
			return
		}
		r := hooks.NewRegistry(hooks.Options{})
		if err := file.Register(r, Options{}); err != nil {
			t.Fatalf("it validates, and does not load: %v", err)
		}
		if err := r.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzFindJudgement checks that text around a judgement changes nothing, and that a later unsafe
// judgement wins.
func FuzzFindJudgement(f *testing.F) {
	for _, s := range []string{"", "{}", `{"safe":true}`, `x {"safe": false, "reason": "y"} z`, `{"safe":`, `{{"safe":true}}`, `{"a":{"safe":true}}`, "\"{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		said, err := findJudgement(text)
		if err != nil && said != (judgement{}) {
			t.Fatalf("garbage and a judgement: %+v, %v", said, err)
		}
		if err == nil && !said.safe && said.reason == "" {
			t.Fatal("unsafe without a reason")
		}
		again, err2 := findJudgement("As I see it:\n" + text)
		if len(text) < maxAnswer/2 && (again != said || !errors.Is(err2, err)) {
			t.Fatalf("with prose in front: %+v, %v, want %+v, %v", again, err2, said, err)
		}
		if said, err := findJudgement(text + "\n" + `{"safe":false,"reason":"no"}`); err == nil && said.safe {
			t.Fatalf("an unsafe judgement behind it does not count: %+v", said)
		}
	})
}

// FuzzWhen checks that an expression compiles or returns an error, and that its evaluation ends.
func FuzzWhen(f *testing.F) {
	for _, s := range []string{`tool == "Bash"`, `args.a.b?.c ?? false`, `result.ok`, `len(args) > 3 and not stopped`, `any(args.list, # > 3)`, `$env.tool == ""`, `tool matches "("`, "1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := compileCondition(text, "PreToolUse", hooks.ToolBefore.Kind())
		if err != nil {
			if _, ok := errors.AsType[*expressionError](err); !ok {
				t.Fatalf("got %v", err)
			}
			return
		}
		_, err = c.holds(hooks.Document{Tool: "Bash", Args: `{"list":[1,2,3]}`})
		if err != nil && !errors.Is(err, errWhen) {
			t.Fatalf("got %v", err)
		}
	})
}

// FuzzToolPattern checks that each plain name matches itself in every syntax of alternatives.
func FuzzToolPattern(f *testing.F) {
	for _, s := range []string{"Edit", "Edit|Write", "{Write,Edit}", "^Write$", "mcp__.*", "Write(**/.env*)", "a{2,3}", "Bash(ls | wc)", "(", "[,]", `\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		p, err := compileTool(pattern)
		if err != nil {
			return
		}
		subject := hooks.Subject{Tool: "own_tool", Args: `{}`}
		if got := p.Match(hooks.Meta{}, subject); got != p.Match(hooks.Meta{}, subject) {
			t.Fatal("not the same again")
		}
		for _, more := range []string{pattern + "|own_tool", "own_tool," + pattern} {
			if strings.ContainsAny(pattern, `([{\`) {
				return // an open bracket takes the separator in
			}
			p, err := compileTool(more)
			if err == nil && !p.Match(hooks.Meta{}, subject) {
				t.Fatalf("%q does not match own_tool", more)
			}
		}
	})
}
