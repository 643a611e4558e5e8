package hooktrail

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	auditorcmd "github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const labelWidth = 11

func writeDemo(w io.Writer, r DemoReport) {
	paint := cli.PaletteFor(w)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "%s %s\n", paint.Bold(termtext.Pad(label, labelWidth)), fmt.Sprintf(format, args...))
	}
	all := total(r.Runs)
	line("Session", "%q", shown(r.Title, 76))
	line("", "%s, %s, %s", plural(len(r.Runs), "run")+ofThem(all.subagents, "by a sub-agent", "by sub-agents"),
		plural(all.steps, "step")+ofThem(all.failedSteps, "failed", "failed"), duration(all.last.Sub(all.first).Milliseconds()))
	line("Captured", "%s, %s (%s)", plural(r.Imported.Events, "event"), plural(all.calls, "tool call"), byName(all.tools))
	line("", "%s, %s without result; %s", plural(all.errors, "call")+" failed"+ofThem(all.denied, "denied", "denied")+
		ofThem(all.interrupted, "interrupted", "interrupted"), count(int64(all.unanswered)), plural(all.failures, "API error"))
	line("", "%s", tokens(all.tokens))
	if n := r.Imported.Malformed; n > 0 {
		line("", "%s", paint.Warn(plural(n, "malformed line")+" left out, as publisher import would tell"))
	}
	writeIssues(line, r, paint)
	line("Metrics", "%s, %s failed; %s, %s failed; %s of the stream counted",
		plural(int(r.Metrics.Steps), "step"), count(r.Metrics.StepsFailed),
		plural(int(r.Metrics.ToolCalls), "tool call"), count(r.Metrics.ToolErrors), plural(int(r.Metrics.StreamApplied), "message"))
	line("AgentFS", "%s", shown(strings.Join(r.AgentFS, ", "), 100))
	writeVerdicts(line, r.Verified, paint)
	fmt.Fprintln(w)
	writeNext(line, r)
}

func writeIssues(line func(label, format string, args ...any), r DemoReport, paint cli.Palette) {
	const most = 8
	label := "Issues"
	if len(r.Issues) == 0 {
		line(label, "none: nothing is left over that outlives the run")
	}
	for i, issue := range r.Issues {
		if i == most {
			line("", "and %s", plural(len(r.Issues)-most, "other"))
			break
		}
		line(label, "%s  %s  %s", issue.ID, paintStatus(issue.Status, paint), shown(issue.Title, 60))
		label = ""
	}
}

func paintStatus(s rules.Status, paint cli.Palette) string {
	text := termtext.Pad(strings.ReplaceAll(string(s), "_", " "), len(rules.InProgress))
	switch s {
	case rules.Closed:
		return paint.Good(text)
	case rules.Blocked:
		return paint.Bad(text)
	case rules.Open, rules.InProgress, rules.Flapping:
	}
	return paint.Warn(text)
}

func writeVerdicts(line func(label, format string, args ...any), v verifier.Report, paint cli.Palette) {
	verdict := func(s string, good bool) string {
		if good {
			return paint.Good(termtext.Pad(s, labelWidth))
		}
		return paint.Bad(termtext.Pad(s, labelWidth))
	}
	checkpoint := "no checkpoint"
	if c := v.Checkpoint; c != nil {
		checkpoint = fmt.Sprintf("signed %s by %s", c.Time.UTC().Format(time.RFC3339), shown(c.Key, 40))
	}
	line("Integrity", "%s %s, %s", verdict(string(v.Integrity), v.Integrity == verifier.Verified), plural(int(v.Leaves), "leaf record"), checkpoint)
	for _, p := range v.Problems {
		line("", "%s", paint.Bad(shown(p, 100)))
	}
	var sent, held uint64
	for _, p := range v.Producers {
		sent, held = sent+p.Sent, held+p.Received
	}
	line("Complete", "%s %s sent, %s held; %s sealed", verdict(string(v.Completeness), v.Completeness == verifier.Complete),
		plural(int(sent), "event"), count(int64(held)), plural(v.Runs.Sealed, "run"))
	if v.ForeignCount > 0 {
		line("", "%s", paint.Bad(plural(int(v.ForeignCount), "foreign record")))
	}
	for _, g := range v.Gaps {
		line("", "%s", paint.Bad(fmt.Sprintf("missing: %s %d to %d (%s)", shown(g.Producer, 40), g.First, g.Last, g.Cause)))
	}
	if a := v.Anchor; a != nil {
		line("Anchor", "%s %s", verdict(string(a.State), a.Exit() == verifier.ExitVerified), termtext.Printable(auditorcmd.AnchorText(a)))
	}
}

func writeNext(line func(label, format string, args ...any), r DemoReport) {
	took := float64(r.TookMS) / float64(time.Second/time.Millisecond)
	if r.DataDir == "" {
		line("Took", "%.1f s, and left nothing behind; --keep keeps it to look around in", took)
		line("Next", "hooktrail up                      the same for your agents, until Ctrl-C")
		line("", "hooktrail demo --session FILE     with a session of yours, of any agent")
		return
	}
	dir := " --data-dir " + termtext.Printable(termtext.ShellQuote(r.DataDir))
	tenant := tenantFlag(r.Verified.Tenant)
	line("Took", "%.1f s; kept in %s", took, termtext.Printable(r.DataDir))
	line("Next", "hooktrail run show%s%s %s", dir, tenant, shown(termtext.ShellQuote(r.Runs[0].Run), maxDetail))
	line("", "auditor verify%s%s --key %s", dir, tenant, termtext.Printable(termtext.ShellQuote(filepath.Join(auditor.KeyDir(r.DataDir), ledger.VerifierFile))))
	line("", "tracker list%s%s", dir, tenant)
}

type totals struct {
	first, last                   time.Time
	subagents, steps, failedSteps int
	calls, errors, unanswered     int
	denied, interrupted           int
	failures                      int // errors outside tool calls
	tools                         map[string]int
	tokens                        events.Tokens
}

func total(runs []ledger.RunSummary) totals {
	all := totals{tools: map[string]int{}}
	for _, r := range runs {
		if r.ParentRun != "" {
			all.subagents++
		}
		if all.first.IsZero() || r.First.Before(all.first) {
			all.first = r.First
		}
		if r.Last.After(all.last) {
			all.last = r.Last
		}
		for status, n := range r.Steps {
			all.steps += n
			if status == events.StepFailed {
				all.failedSteps += n
			}
		}
		for tool, n := range r.ToolCallsByName {
			all.tools[tool] += n
		}
		all.calls += r.ToolCalls
		all.errors += r.ToolErrors
		all.unanswered += r.Unanswered
		all.denied += r.ToolDenied
		all.interrupted += r.ToolInterrupted
		all.failures += r.Errors
		all.tokens = all.tokens.Plus(r.Tokens)
	}
	return all
}

func byName(tools map[string]int) string {
	const most = 7
	names := slices.SortedFunc(maps.Keys(tools), func(a, b string) int {
		return cmp.Or(cmp.Compare(tools[b], tools[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d others", len(names)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", shown(name, 30), tools[name]))
	}
	return strings.Join(parts, ", ")
}

func ofThem(n int, one, many string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", 1 " + one
	}
	return ", " + count(int64(n)) + " " + many
}
