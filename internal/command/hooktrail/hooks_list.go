package hooktrail

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

type listedPoint struct {
	Point events.Kind `json:"point"`
	Class hooks.Class `json:"class"`
	Names []string    `json:"names"` // other names in hooks.yaml
	Async bool        `json:"async"`
}

type listedHook struct {
	Point     events.Kind `json:"point"`
	Name      string      `json:"name"`
	Priority  int         `json:"priority"`
	TimeoutMS int64       `json:"timeout_ms"`
	OnFailure string      `json:"on_failure"`
	Async     bool        `json:"async"`
	Last      bool        `json:"last"`
}

func hooksListCommand(shared *cli.Shared) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "list [--hooks FILE]",
		Short: "List the hook points, or the hooks of a file",
		Long: `List the hook points with their names in hooks.yaml. With --hooks list the hooks and
policies of that file in the order in which they run.`,
		Example: `  hooktrail hooks list
  hooktrail hooks list --hooks hooks.yaml --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return printPoints(cmd, shared)
			}
			f, err := hookfile.Load(file)
			if err != nil {
				return err
			}
			r := hooks.NewRegistry(hooks.Options{})
			if err := f.Register(r, hookfile.Options{}); err != nil {
				return err
			}
			return printHooks(cmd, shared, r.List())
		},
	}
	cmd.Flags().StringVar(&file, "hooks", "", "`file` with the hooks")
	return cmd
}

func printPoints(cmd *cobra.Command, shared *cli.Shared) error {
	list := []listedPoint{}
	rows := [][]string{{"POINT", "CLASS", "ALSO CALLED", "ASYNC"}}
	for _, p := range hooks.Points() {
		p := listedPoint{Point: p.Kind, Class: p.Class, Names: append([]string{}, p.Aliases...), Async: p.Async}
		list = append(list, p)
		rows = append(rows, []string{string(p.Point), string(p.Class), strings.Join(p.Names, ", "), yes(p.Async)})
	}
	return cli.Print(cmd, shared, list, func(out io.Writer) { writeTable(out, rows) })
}

func printHooks(cmd *cobra.Command, shared *cli.Shared, registered []hooks.Registration) error {
	points := hooks.Points()
	index := func(kind events.Kind) int {
		return slices.IndexFunc(points, func(p hooks.Point) bool { return p.Kind == kind })
	}
	slices.SortStableFunc(registered, func(a, b hooks.Registration) int {
		return cmp.Or(cmp.Compare(index(a.Point), index(b.Point)), cmp.Compare(yes(a.Last), yes(b.Last)), cmp.Compare(a.Priority, b.Priority))
	})
	list := []listedHook{}
	rows := [][]string{{"POINT", "HOOK", "PRIORITY", "TIMEOUT", "ON FAILURE", "ASYNC", "LAST"}}
	for _, h := range registered {
		list = append(list, listedHook{
			Point: h.Point, Name: h.Name, Priority: h.Priority, TimeoutMS: h.Timeout.Milliseconds(),
			OnFailure: h.OnFailure.String(), Async: h.Async, Last: h.Last,
		})
		rows = append(rows, []string{
			string(h.Point), termtext.Printable(h.Name), strconv.Itoa(h.Priority), h.Timeout.String(), h.OnFailure.String(), yes(h.Async), yes(h.Last),
		})
	}
	return cli.Print(cmd, shared, list, func(out io.Writer) {
		if len(list) == 0 {
			fmt.Fprintln(out, "the file has no hooks")
			return
		}
		writeTable(out, rows)
	})
}

func writeTable(w io.Writer, rows [][]string) {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	table.Flush()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
