package tracker

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/issues"
)

// whyOfInput explains an issue or an event of what a file comes to. Like whatif
// it tells lines that are no events when it has answered.
func whyOfInput(cmd *cobra.Command, shared *cli.Shared, path, config, id string) (err error) {
	c := issues.DefaultConfig()
	if config != "" {
		if c, err = loadConfig(config); err != nil {
			return err
		}
	}
	f, err := newFolding(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	f.asked = id
	named := cmp.Or(shared.Tenant, inputTenant)
	bad, err := foldInput(cmd.Context(), path, cmd.InOrStdin(), named, "", cli.NewProgress(cmd.ErrOrStderr(), "why"), f)
	if err != nil {
		return err
	}
	x, err := explainInput(f.conn, shared.Tenant, id)
	if errors.Is(err, ErrNotFound) && f.kind != "" && !issues.Considered(f.kind) {
		x, err = Explanation{Subject: id, Decisions: []Reasoning{}, Unconsidered: notConsidered(id, f.kind)}, nil
	}
	if err == nil {
		err = x.print(cmd, shared)
	}
	return errors.Join(err, bad.err())
}

// explainInput explains an issue or an event of tenant, or of the one that has it
// if none is named.
func explainInput(conn *sqlite.Conn, tenant, id string) (Explanation, error) {
	tenants, err := tenantsOf(conn)
	if err != nil {
		return Explanation{}, err
	}
	var (
		found Explanation
		have  []string // the tenants that have it
	)
	for _, name := range tenants {
		x, err := explain(conn, name, id)
		if err != nil {
			return x, err
		}
		if x.empty() {
			continue
		}
		if have = append(have, name); name == cmp.Or(tenant, inputTenant) {
			return x, nil
		}
		found = x
	}
	switch {
	case tenant == "" && len(have) == 1:
		return found, nil
	case tenant == "" && len(have) > 1:
		return found, cli.Usage("%s is in several tenants, say which with --tenant: %s", oneLine(id), names(have))
	case len(have) > 0:
		return found, fmt.Errorf("%w: %s in tenant %s, but in %s", ErrNotFound, oneLine(id), oneLine(tenant), names(have))
	case len(tenants) == 0:
		return found, fmt.Errorf("%w: %s: no event of the input is decided on; %s", ErrNotFound, oneLine(id), whatIsConsidered)
	}
	return found, fmt.Errorf("%w: %s, nor an event of that id that is decided on, in any tenant of the input: %s; %s",
		ErrNotFound, oneLine(id), names(tenants), whatIsConsidered)
}

// tenantsOf returns the tenants that anything was decided of.
func tenantsOf(conn *sqlite.Conn) (list []string, err error) {
	err = each(conn, func(stmt *sqlite.Stmt) error {
		list = append(list, stmt.ColumnText(0))
		return nil
	}, "SELECT DISTINCT tenant FROM decision ORDER BY tenant")
	return list, err
}

// mostNames is how many names are told.
const mostNames = 10

// names lists names for people: the first of them.
func names(list []string) string {
	told := make([]string, 0, mostNames)
	for _, name := range list[:min(len(list), mostNames)] {
		told = append(told, cell(name))
	}
	text := strings.Join(told, ", ")
	if more := len(list) - len(told); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
