package hooktrail

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func origin(t runtree.Trace) (parts []string) {
	for _, one := range []struct{ label, text string }{{"by ", t.User}, {"in ", t.Cwd}, {"branch ", t.Branch}} {
		if one.text != "" {
			parts = append(parts, one.label+shown(one.text, maxDetail))
		}
	}
	return parts
}

var madeUp = regexp.MustCompile(`^(message|line|step|item|turn)-[0-9a-f]+(-[0-9]+)?$|^[0-9]*(-[0-9]+)?$` +
	`|(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^(chatcmpl|gen|msg|resp|req)[-_][0-9a-zA-Z_-]{12,}$`)

func (p page) title(s *runtree.Step) string {
	switch {
	case s.Input != "":
		return s.Input
	case !madeUp.MatchString(s.ID):
		return s.ID
	case s.Output == "" && p.prompt != "":
		return "… " + p.prompt
	}
	return cmp.Or(s.Output, unknown)
}

func widestName(t runtree.Trace) int {
	widest := nameWidth
	for one := range t.All() {
		for _, s := range one.Steps {
			for _, r := range s.Rows {
				widest = max(widest, min(termtext.Width(shown(r.Name, maxDetail)), maxName))
			}
		}
	}
	return widest
}

const (
	maxName     = 36
	leastDetail = nameWidth + detailWidth - maxName
)

func (p page) nameAndDetail(r *runtree.Row) string {
	name := shown(r.Name, maxDetail)
	width := max(leastDetail, nameWidth+detailWidth-p.names)
	return name + strings.Repeat(" ", max(0, p.names-termtext.Width(name))) + " " + termtext.Pad(shown(r.Detail, maxDetail), width)
}

func (p page) writeNotes(indent string, r *runtree.Row) {
	for _, alarm := range alarms(r) {
		fmt.Fprintf(p.w, "%s%s\n", indent, p.paint.Bad(alarm))
	}
	if r.Verdict == events.VerdictAsk && !r.Denied() {
		p.writeNote(indent, strings.TrimSuffix("hooks asked a person: "+r.Reason, ": "), p.paint.Warn)
	}
	p.writeNote(indent, cmp.Or(refusal(r), failure(r)), p.paint.Bad)
}

func (p page) writeNote(indent, text string, paint func(string) string) {
	for _, line := range wrapped(termtext.Printable(strings.Join(strings.Fields(text), " "))) {
		fmt.Fprintf(p.w, "%s%s\n", indent, paint(line))
	}
}

func refusal(r *runtree.Row) string {
	switch {
	case !r.Denied():
		return ""
	case r.Verdict == events.VerdictDeny && r.Hook != "":
		return strings.TrimSuffix("denied by hook "+r.Hook+": "+r.Reason, ": ")
	case r.Verdict == events.VerdictDeny:
		return r.Reason
	}
	if r.DeniedBy == events.DeniedByUser || r.Failure == nil {
		return strings.TrimSuffix("refused by the "+cmp.Or(string(r.DeniedBy), "tool")+": "+userWords(r.Failure), ": ")
	}
	return strings.TrimPrefix(string(r.DeniedBy)+": "+r.Failure.Message, ": ")
}

// userWords returns what a person wrote when refusing a tool call. Claude Code puts these words
// after a long fixed text.
func userWords(f *events.Failure) string {
	if f == nil {
		return ""
	}
	_, words, _ := strings.Cut(f.Message, "the user said:")
	return runtree.OneLine(words)
}

func failure(r *runtree.Row) string {
	if r.Status != events.ToolError {
		return ""
	}
	text := ""
	if r.Failure != nil {
		text = r.Failure.Message
	}
	if r.Kind == events.Error && text == r.Detail && len([]rune(text)) <= leastDetail {
		return "" // the row has it
	}
	if r.ExitCode == nil {
		return text
	}
	exit := "exit " + strconv.Itoa(*r.ExitCode)
	if rest := exitLine.ReplaceAllString(text, ""); rest != "" {
		return exit + ": " + rest
	}
	return exit
}

var exitLine = regexp.MustCompile(`(?i)^\s*(error:\s*)?(command failed with )?exit code:?\s*\d+\.?\s*`)

const (
	noteWidth = 88
	noteStart = 2 // lines at the beginning of a long text
	noteEnd   = 3 // lines at its end, which often tell the cause
)

func wrapped(text string) (lines []string) {
	for words := strings.Fields(text); len(words) > 0; {
		line := termtext.Fit(words[0], noteWidth)
		words = words[1:]
		for len(words) > 0 && termtext.Width(line)+1+termtext.Width(words[0]) <= noteWidth {
			line += " " + words[0]
			words = words[1:]
		}
		lines = append(lines, line)
	}
	if len(lines) > noteStart+1+noteEnd {
		lines = slices.Replace(lines, noteStart, len(lines)-noteEnd, "…")
	}
	return lines
}
