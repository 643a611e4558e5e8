package publisher

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/prices"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

func pricesCommand(shared *cli.Shared) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "prices",
		Short: "Show the prices of models for estimates of costs",
		Long: "prices shows the table that import uses for runs whose transcript states tokens but no cost.\n" +
			"It is the file prices.json in the data directory, or else the table of this version. --json\n" +
			"prints it in the format of that file, in US dollars per million tokens. A model can end with\n" +
			"\"*\", and the longest match counts. A model that is not in the table has no cost.",
		Example: "  publisher prices\n  publisher prices --json > prices.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			table, err := prices.Load(path, shared.DataDir)
			if err != nil {
				return err
			}
			return cli.Print(cmd, shared, table, func(out io.Writer) { writePrices(out, table) })
		},
	}
	cmd.Flags().StringVar(&path, "prices", "", "JSON `file` to show instead")
	return cmd
}

func writePrices(out io.Writer, table *prices.Table) {
	fmt.Fprintf(out, "prices of %s: %s\n", termtext.Printable(table.Date), termtext.Printable(table.Source))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITE\tUSD PER MILLION TOKENS")
	for _, name := range slices.Sorted(maps.Keys(table.Models)) {
		p := table.Models[name]
		fmt.Fprintf(w, "%s\t%g\t%g\t%s\t%s\t\n", termtext.Printable(name), p.Input, p.Output, priced(p.CacheRead), priced(p.CacheWrite))
	}
	w.Flush()
}

func priced(usd float64) string {
	if usd == 0 {
		return "as input"
	}
	return fmt.Sprintf("%g", usd)
}
