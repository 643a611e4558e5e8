package auditor

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/tiles"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

const tilesFormat bundle.Format = "tiles"

func (x exportFlags) runTiles(cmd *cobra.Command, shared *cli.Shared) (err error) {
	switch {
	case x.out == "":
		return cli.Usage("--format tiles needs --out with the name of a folder")
	case !x.isAll():
		return cli.Usage("--format tiles exports the whole log: omit --run, --from and --to")
	}
	r, err := x.open(cmd, shared, ledger.Selection{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	say, err := x.asOf(cmd, shared, r)
	if err != nil {
		return err
	}
	defer func() { say(err) }()
	bar := cli.NewProgress(cmd.ErrOrStderr(), "export")
	defer bar.Finish()
	return damaged(tiles.Export(cmd.Context(), r, x.out, func(done, all int) { bar.Set(uint64(done), uint64(all)) }))
}
