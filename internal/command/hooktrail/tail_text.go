package hooktrail

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/evidence/tail"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	timeWidth = len("2006-01-02 15:04:05")
	lineWidth = 240 // of a line without a terminal
)

type tailPrinter struct {
	cmd      *cobra.Command
	json     bool
	width    int // of the terminal, or 0
	paint    cli.Palette
	ids      *shortIDs
	several  bool // tenants
	run, who int  // widest cells so far
}

func newTailPrinter(cmd *cobra.Command, shared *cli.Shared) *tailPrinter {
	out := cmd.OutOrStdout()
	return &tailPrinter{cmd: cmd, json: shared.JSON, width: cli.Columns(out), paint: cli.PaletteFor(out), ids: new(shortIDs)}
}

func (p *tailPrinter) know(ctx context.Context, r *ledger.Reader) error {
	if p.width == 0 {
		return nil
	}
	runs, err := r.Runs(ctx)
	for _, run := range runs {
		p.ids.add(run.Run)
	}
	return err
}

func (p *tailPrinter) line(l tail.Line) error {
	if p.json {
		return cli.PrintJSONLine(p.cmd, l)
	}
	_, err := io.WriteString(p.cmd.OutOrStdout(), p.text(l)+"\n")
	return err
}

func (p *tailPrinter) text(l tail.Line) string {
	at := unknown
	if !l.Time.IsZero() {
		at = l.Time.UTC().Format("2006-01-02 15:04:05")
	}
	run, width := l.Run, cmp.Or(p.width, lineWidth)
	if p.width > 0 && run != "" {
		p.ids.add(l.Run)
		run = p.ids.of(l.Run)
	}
	who := cmp.Or(l.Agent, l.Source, unknown)
	if l.Role != "" {
		who += "/" + l.Role
	}
	run = cmp.Or(run, unknown)
	if p.several {
		run = l.Tenant + " " + run
	}
	run, who = shown(run, maxCell), shown(who, nameWidth+len(unknown)*2)
	p.run, p.who = max(p.run, termtext.Width(run)), max(p.who, termtext.Width(who))
	mark, text := tailWords(l)
	head := termtext.Pad(at, timeWidth) + columnGap + termtext.Pad(run, p.run) + columnGap + termtext.Pad(who, p.who) + columnGap
	text = termtext.Fit(text, max(leastTitle, width-termtext.Width(head)-2))
	return p.paint.Dim(head) + paintMark(mark, p.paint) + " " + text
}

func paintMark(mark string, paint cli.Palette) string {
	switch mark {
	case "✗", "!":
		return paint.Bad(mark)
	case "✓":
		return paint.Good(mark)
	case "•":
		return paint.Dim(mark)
	}
	return paint.Warn(mark)
}

func tailWords(l tail.Line) (mark, text string) {
	name := shown(cmp.Or(l.Name, string(l.Kind)), maxName)
	switch {
	case l.Altered != "":
		return "!", fmt.Sprintf("leaf %d, %s: %s", l.Leaf, shown(string(l.Kind), maxName), shown(l.Altered, maxDetail))
	case l.Removed != "":
		return "•", shown(string(l.Kind)+spaced(l.Removed), maxDetail)
	case l.Kind == events.ToolBefore, l.Kind == events.ToolResult, l.Kind == events.Approval:
		return callMark(l), dotted(name+spaced(l.Detail), callNote(l), lasting(l))
	case l.Kind == events.Error:
		return "✗", dotted("error"+spaced(l.Name), l.Detail)
	}
	parts, ok := tailParts[l.Kind]
	if !ok {
		return "•", name
	}
	return endMark(l), dotted(append(parts(l), spentOn(l)...)...)
}

var tailParts = map[events.Kind]func(tail.Line) []string{
	events.RunStarted: func(l tail.Line) []string {
		where := origin(runtree.Trace{User: l.User, Cwd: l.Cwd, Branch: l.Branch})
		return append([]string{"started", l.Detail, l.Model}, where...)
	},
	events.RunFinished: func(l tail.Line) []string {
		if endsTurn(l) {
			return []string{"turn ended", lasting(l)}
		}
		return []string{endOf(events.RunStatus(l.Status)), l.Reason, failureText(l), lasting(l)}
	},
	events.RunSealed: func(tail.Line) []string { return []string{"sealed"} },
	events.StepFinished: func(l tail.Line) []string {
		return []string{"step" + spaced(l.Status), failureText(l), lasting(l)}
	},
	events.PromptSubmit:      func(l tail.Line) []string { return []string{"prompt" + spaced(l.Detail), callNote(l)} },
	events.ResponseCompleted: func(l tail.Line) []string { return []string{"answer", l.Model} },
	events.SubagentStart: func(l tail.Line) []string {
		return []string{"sub-agent" + spaced(l.Name) + " started", l.Detail, l.Model}
	},
	events.SubagentStopped: func(l tail.Line) []string {
		return []string{"sub-agent" + spaced(l.Name) + " stopped", l.Detail, lasting(l)}
	},
	events.CompactBefore:  func(l tail.Line) []string { return []string{"compaction" + spaced(l.Detail)} },
	events.Custom:         func(l tail.Line) []string { return []string{"custom" + spaced(l.Name), l.Detail} },
	events.MessageCreate:  messageParts,
	events.MessageCreated: messageParts,
	events.MessageUpdate:  messageParts,
	events.MessageUpdated: messageParts,
}

func messageParts(l tail.Line) []string {
	return []string{cmp.Or(l.Name, string(l.Kind)) + spaced(l.Detail), callNote(l)}
}

func endsTurn(l tail.Line) bool {
	end := events.RunEnd{Source: l.Source, Data: events.RunFinishedData{RunStatus: events.RunStatus(l.Status), Reason: l.Reason}}
	return l.Kind == events.RunFinished && end.EndsTurn()
}

func spaced(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}

func dotted(parts ...string) string {
	var there []string
	for _, part := range parts {
		if part != "" {
			there = append(there, shown(part, maxDetail))
		}
	}
	return strings.Join(there, " · ")
}

func callMark(l tail.Line) string {
	switch {
	case l.DeniedResult:
		return "!"
	case l.Denied():
		return "✗"
	case l.Kind == events.ToolResult:
		return rowMark(&runtree.Row{Kind: l.Kind, Status: events.ToolStatus(l.Status)}, cli.Palette{})
	case l.Kind == events.Approval && l.Verdict == events.VerdictAllow:
		return "✓"
	case l.Kind == events.Approval, l.Verdict == events.VerdictAsk:
		return "?"
	}
	return "…"
}

func endMark(l tail.Line) string {
	switch {
	case l.Denied():
		return "✗"
	case l.Kind == events.StepFinished:
		return stepMark(events.StepStatus(l.Status), cli.Palette{})
	case l.Kind != events.RunFinished, endsTurn(l):
		return "•"
	}
	switch events.RunStatus(l.Status) {
	case events.RunCompleted:
		return "✓"
	case events.RunFailed:
		return "✗"
	case events.RunInterrupted:
		return "■"
	case events.RunUnknown:
	}
	return "?"
}

func callNote(l tail.Line) string {
	row := &runtree.Row{
		Kind: events.ToolBefore, Verdict: l.Verdict, Hook: l.Hook, Reason: l.Reason, Status: events.ToolStatus(l.Status),
		DeniedBy: l.DeniedBy, ExitCode: l.ExitCode, Failure: l.Failure,
	}
	switch {
	case l.DeniedResult:
		return "the call was denied and has a successful result"
	case l.Verdict == events.VerdictDeny && l.Hook == "":
		return strings.TrimSuffix("denied: "+l.Reason, ": ")
	case l.Denied():
		return refusal(row)
	case l.Verdict == events.VerdictAsk, l.Kind == events.Approval && l.Verdict == "":
		return strings.TrimSuffix("asks a person: "+l.Reason, ": ")
	case l.Kind == events.Approval && l.Verdict == events.VerdictAllow:
		return strings.TrimSuffix("allowed: "+l.Reason, ": ")
	case l.Kind == events.Approval:
		return "not answered"
	}
	return failure(row)
}

func failureText(l tail.Line) string {
	if l.Failure == nil {
		return ""
	}
	return l.Failure.Message
}

func lasting(l tail.Line) string {
	switch {
	case l.Kind == events.ToolResult && l.Status == string(events.ToolInterrupted):
		return "stopped"
	case l.DurationMS == 0 || l.Denied():
		return ""
	}
	return duration(l.DurationMS)
}

func spentOn(l tail.Line) (parts []string) {
	if l.Tokens != nil && *l.Tokens != (events.Tokens{}) {
		parts = append(parts, tokens(*l.Tokens))
	}
	if l.Cost != nil {
		parts = append(parts, cost(l.Cost))
	}
	return parts
}
