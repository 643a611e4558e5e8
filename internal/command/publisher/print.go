package publisher

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

const maxPrinted = 20

func printImport(cmd *cobra.Command, shared *cli.Shared, sum publisher.ImportSummary) error {
	sum.Files, sum.Runs, sum.Lines = list(sum.Files), list(sum.Runs), list(sum.Lines)
	return cli.Print(cmd, shared, sum, func(out io.Writer) { writeImport(out, sum) })
}

func writeImport(w io.Writer, sum publisher.ImportSummary) {
	fmt.Fprintf(w, "imported %s, %s: %s (%s)\n",
		count(len(sum.Files), "file", "files"), count(len(sum.Runs), "run", "runs"),
		count(sum.Events, "event", "events"), counted(sum.Counts))
	if sum.Changed > 0 {
		fmt.Fprintf(w, "changed: %s other content than at an earlier import; the ledger keeps both, and auditor verify names them\n",
			count(sum.Changed, "event has", "events have"))
	}
	printFiles(w, sum.Files)
	printMalformed(w, sum.Malformed, sum.Lines)
	if n := len(sum.Unrecognised); n > 0 {
		fmt.Fprintf(w, "not imported: %s in an unknown format, starting with %s; --json lists them\n",
			count(n, "file", "files"), termtext.Printable(sum.Unrecognised[0]))
	}
	if len(sum.Skipped) > 0 {
		fmt.Fprintf(w, "not imported: %s of sub-agents next to a given file; import the folder %s as well\n",
			count(len(sum.Skipped), "file", "files"), termtext.Printable(termtext.ShellQuote(filepath.Dir(sum.Skipped[0]))))
	}
}

func counted(c publisher.Counts) string {
	text := fmt.Sprintf("%d new", c.New)
	if c.Changed > 0 {
		text += fmt.Sprintf(", %d changed", c.Changed)
	}
	return text + fmt.Sprintf(", %d already known", c.Known)
}

func printFiles(w io.Writer, files []publisher.FileSummary) {
	for i, f := range files {
		if i == maxPrinted {
			fmt.Fprintf(w, "  … and %d more; --json lists them\n", len(files)-i)
			return
		}
		fmt.Fprintf(w, "  %s (%s): %s, %s (%s), %s, %s\n", termtext.Printable(f.File), cmp.Or(f.Format, "empty"),
			count(f.Events, "event", "events"), count(f.ToolCalls, "tool call", "tool calls"), outcomes(f.Contents),
			count(f.Errors, "error", "errors"), count(f.Malformed, "bad line", "bad lines"))
	}
}

func outcomes(c publisher.Contents) string {
	text := fmt.Sprintf("%d failed", c.ToolErrors)
	if c.ToolsDenied > 0 {
		text += fmt.Sprintf(", %d denied", c.ToolsDenied)
	}
	if c.ToolsInterrupted > 0 {
		text += fmt.Sprintf(", %d interrupted", c.ToolsInterrupted)
	}
	return text
}

func printPipe(cmd *cobra.Command, shared *cli.Shared, sum publisher.PipeSummary) error {
	sum.Lines = list(sum.Lines)
	return cli.Print(cmd, shared, sum, func(out io.Writer) {
		fmt.Fprintf(out, "piped %s (%d new, %d already known)\n", count(sum.Events, "event", "events"), sum.New, sum.Known)
		if sum.Records > 0 {
			fmt.Fprintf(out, "left out: %s of reserved kinds\n", count(sum.Records, "record", "records"))
		}
		printMalformed(out, sum.Malformed, sum.Lines)
	})
}

func printMalformed(w io.Writer, n int, list []publisher.Malformed) {
	if n == 0 {
		return
	}
	fmt.Fprintf(w, "%s:\n", count(n, "malformed line", "malformed lines"))
	for i, m := range list {
		if i == maxPrinted {
			fmt.Fprintf(w, "  … and %d more; --json lists them\n", n-i)
			return
		}
		note := ""
		if m.Kept {
			note = " (kept)"
		}
		fmt.Fprintf(w, "  %s%s\n", termtext.Printable(m.String()), note)
	}
}
