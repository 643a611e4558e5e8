package hooktrail

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type runColumn struct {
	name  string
	rank  int // a narrow terminal drops the columns with the highest rank first
	width int // at most
	cell  func(ledger.RunSummary) string
}

const essential = 0

const (
	unknown    = "–"
	runName    = "RUN"
	tenantName = "TENANT"
	titleName  = "TITLE"
	titleWidth = 60 // without a terminal
	leastTitle = 16
	maxCell    = 80
	columnGap  = "  "
)

func runColumns() []runColumn {
	return []runColumn{
		{runName, essential, maxCell, func(s ledger.RunSummary) string { return s.Run }},
		{tenantName, 1, 16, nil}, // see tableOf
		{"STARTED", essential, 16, started},
		{"LASTED", 10, 9, lasted},
		{"AGENT", 4, 16, func(s ledger.RunSummary) string { return cmp.Or(s.Agent, s.Source) }},
		{"MODEL", 7, 24, func(s ledger.RunSummary) string { return s.Model }},
		{"WHO", 6, 16, func(s ledger.RunSummary) string { return s.User }},
		{"FOLDER", 5, 28, func(s ledger.RunSummary) string { return folder(s.Cwd) }},
		{"BRANCH", 8, 20, func(s ledger.RunSummary) string { return s.Branch }},
		{"STATE", essential, 11, stateOf},
		{"SEALED", 9, 6, func(s ledger.RunSummary) string { return yes(s.Sealed) }},
		{"CALLS", 3, 9, func(s ledger.RunSummary) string { return count(int64(s.ToolCalls)) }},
		{"DENIED", essential, 6, func(s ledger.RunSummary) string { return orDash(s.ToolDenied) }},
		{"FAILED", essential, 6, func(s ledger.RunSummary) string { return orDash(s.ToolErrors) }},
		{"STOPPED", 9, 7, func(s ledger.RunSummary) string { return some(s.ToolInterrupted) }},
		{"TOKENS", 10, 20, spent},
		{"COST", 10, 10, paid},
		{titleName, essential, maxCell, func(s ledger.RunSummary) string { return cmp.Or(s.Title, s.Prompt) }},
	}
}

func started(s ledger.RunSummary) string {
	if s.Started.IsZero() {
		return ""
	}
	return s.Started.UTC().Format("2006-01-02 15:04")
}

func lasted(s ledger.RunSummary) string {
	if s.Started.IsZero() {
		return ""
	}
	return knownDuration(s.Ended.Sub(s.Started).Milliseconds(), s.Untimed > 0)
}

func stateOf(s ledger.RunSummary) string {
	if s.Altered > 0 {
		return altered
	}
	return string(s.State)
}

func spent(s ledger.RunSummary) string {
	if s.Tokens == (events.Tokens{}) {
		return ""
	}
	return count(s.Tokens.Input) + "/" + count(s.Tokens.Output)
}

func paid(s ledger.RunSummary) string {
	if s.Cost == nil {
		return ""
	}
	text := strings.TrimPrefix(cost(&events.Cost{USD: s.Cost.USD}), "cost ")
	if s.Cost.Estimated {
		return "~" + text
	}
	return text
}

func some(n int) string {
	if n == 0 {
		return ""
	}
	return count(int64(n))
}

func folder(path string) string {
	const most = 28
	if home, err := os.UserHomeDir(); err == nil && home != "/" && (path == home || strings.HasPrefix(path, home+"/")) {
		path = "~" + strings.TrimPrefix(path, home)
	}
	r := []rune(path)
	if len(r) > most {
		r = append([]rune{'…'}, r[len(r)-most+1:]...)
	}
	return string(r)
}

func writeRuns(out io.Writer, list ledger.RunList, width int, ids []string) {
	if len(list.Runs) == 0 {
		fmt.Fprintln(out, "no runs")
		return
	}
	columns, cells := tableOf(list.Runs, width > 0, ids)
	if width > 0 {
		columns, cells = narrow(columns, cells, width)
	}
	for i := range list.Runs {
		if i == 0 {
			fmt.Fprintln(out, tableLine(columns, func(c int) string { return columns[c].name }))
		}
		fmt.Fprintln(out, tableLine(columns, func(c int) string { return cells[c][i] }))
	}
	switch {
	case list.More > 0:
		fmt.Fprintf(out, "and %s before; --limit 0 lists all\n", plural(list.More, "run"))
	case list.More < 0:
		fmt.Fprintln(out, "older runs are not listed; --limit 0 lists all that match")
	}
}

func tableOf(runs []ledger.RunSummary, terminal bool, all []string) (columns []runColumn, cells [][]string) {
	ids := newShortIDs(runIDs(runs), slices.Values(all))
	several := slices.ContainsFunc(runs, func(s ledger.RunSummary) bool { return s.Tenant != runs[0].Tenant })
	for _, c := range runColumns() {
		switch c.name {
		case runName:
			if terminal {
				c.cell = func(s ledger.RunSummary) string { return ids.of(s.Run) }
			}
		case tenantName:
			c.cell = func(s ledger.RunSummary) string { return tenantOf(s, several) }
		case titleName:
			if !terminal {
				c.width = titleWidth
			}
		}
		column, widest, empty := make([]string, len(runs)), len(c.name), true
		for i, s := range runs {
			text := termtext.Printable(termtext.OneLine(c.cell(s)))
			empty = empty && text == ""
			column[i] = cmp.Or(termtext.Fit(text, max(c.width, len(c.name))), unknown)
			widest = max(widest, termtext.Width(column[i]))
		}
		if c.width = widest; !empty || c.rank == essential {
			columns, cells = append(columns, c), append(cells, column)
		}
	}
	return columns, cells
}

func runIDs(runs []ledger.RunSummary) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range runs {
			if !yield(s.Run) {
				return
			}
		}
	}
}

func tenantOf(s ledger.RunSummary, several bool) string {
	if several {
		return s.Tenant
	}
	return ""
}

func narrow(columns []runColumn, cells [][]string, width int) ([]runColumn, [][]string) {
	title := len(columns) - 1
	for {
		need := 0
		for _, c := range columns[:title] {
			need += c.width + len(columnGap)
		}
		if need+min(leastTitle, columns[title].width) <= width || !slices.ContainsFunc(columns, func(c runColumn) bool { return c.rank > essential }) {
			columns[title].width = max(0, min(columns[title].width, width-need))
			return columns, cells
		}
		worst := 0
		for i, c := range columns {
			if c.rank > columns[worst].rank {
				worst = i
			}
		}
		columns, cells = slices.Delete(columns, worst, worst+1), slices.Delete(cells, worst, worst+1)
		title--
	}
}

func tableLine(columns []runColumn, cell func(column int) string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = termtext.Pad(cell(i), c.width)
	}
	return strings.TrimRight(strings.Join(parts, columnGap), " ")
}
