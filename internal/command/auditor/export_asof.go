package auditor

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// Call asOf before the export, because the ledger may grow meanwhile. The returned function prints
// how recent the ledger was.
func (x exportFlags) asOf(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader) (say func(error), err error) {
	path, err := ledgerPath(shared.DataDir, r.Tenant(), x.file)
	if err != nil {
		return nil, err
	}
	q := ask(cmd, shared, source{file: x.file, path: path}, x.wait)
	defer q.close()
	c, err := r.Newest(cmd.Context())
	if err != nil {
		return nil, err
	}
	runs, err := r.Activity().RunEnds(cmd.Context())
	if err != nil {
		return nil, err
	}
	var unsealed []string
	for _, run := range runs {
		if !run.Sealed {
			unsealed = append(unsealed, run.Run)
		}
	}
	at := q.at(cmd.Context(), c)
	return func(err error) {
		if err == nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "as of %s\n", termtext.Printable(oneLine(asOfText(at, runsText(unsealed, "unsealed")))))
		}
	}, nil
}
