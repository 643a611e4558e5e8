package auditor

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

func endorseFolders(cmd *cobra.Command, shared *cli.Shared, folders []string) error {
	keys := auditor.KeyDir(shared.DataDir)
	if err := auditor.CheckKey(shared.DataDir); err != nil {
		return err
	}
	if _, err := writer.OpenKey(keys); err != nil {
		return err
	}
	signer, public, err := writer.ReadSigner(writer.KeyFile(keys))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		err := os.MkdirAll(folder, 0o700)
		if err == nil {
			err = auditor.EndorseFor(folder, shared.Tenant, public, signer)
		}
		if err != nil {
			return fmt.Errorf("--for %s: %w", folder, err)
		}
	}
	return cli.Print(cmd, shared, map[string][]string{"endorsed": folders}, func(out io.Writer) {
		for _, folder := range folders {
			fmt.Fprintf(out, "endorsed: the issuer of %s\n", termtext.Printable(folder))
		}
	})
}
