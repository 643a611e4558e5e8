package beads

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
)

// lacks is what a workspace does not have of an issue.
type lacks struct {
	status, title, description bool
	labels                     []string
	dependencies               []Dependency
	comments                   []Comment
	anew                       bool // bd cannot take away what is there but with all of the issue
}

func (l lacks) any() bool {
	return l.status || l.title || l.description || l.anew || len(l.labels)+len(l.dependencies)+len(l.comments) > 0
}

// lacks returns what theirs lacks of r.
func (r row) lacks(theirs Issue) (l lacks) {
	ours := r.issue
	l.status = ours.Status != theirs.Status
	l.title = ours.Title != theirs.Title
	l.description = ours.Description != theirs.Description
	l.labels = without(ours.Labels, theirs.Labels, func(s string) string { return s })
	l.dependencies = without(ours.Dependencies, theirs.Dependencies, Dependency.key)
	l.comments = without(ours.Comments, theirs.Comments, Comment.key)
	if r.marks&markErased != 0 {
		l.status = l.status || ours.CloseReason != theirs.CloseReason
		l.anew = theirs.Notes != ours.Notes || len(without(theirs.Comments, ours.Comments, Comment.key)) > 0
	}
	return l
}

// without returns the elements of list that others does not have. Of several
// equal ones each counts for itself.
func without[T any](list, others []T, key func(T) string) (rest []T) {
	has := count(others, key)
	for _, v := range list {
		if has[key(v)]--; has[key(v)] < 0 {
			rest = append(rest, v)
		}
	}
	return rest
}

// plan is what bd is to do for some issues.
type plan struct {
	anew         []string // to be deleted first
	fresh        []Issue
	moves, links []command
	amend        []amendment
}

type amendment struct {
	issue Issue
	lacks lacks
}

// add plans what is missing of r.
func (p *plan) add(r row, known map[string]shown) {
	theirs, ok := known[r.issue.ID]
	l := r.lacks(theirs.issue)
	if ok && l.anew {
		p.anew = append(p.anew, r.issue.ID)
	}
	if !ok || l.anew {
		p.fresh = append(p.fresh, r.issue)
		return
	}
	if l.status {
		p.moves = append(p.moves, command{r.issue.ID, move(r.issue)})
	}
	for _, d := range l.dependencies {
		if isWord(d.Type) && isWord(d.Issue) && isWord(d.DependsOn) {
			p.links = append(p.links, command{r.issue.ID, fmt.Sprintf("dep add %s %s %s", d.Issue, d.DependsOn, d.Type)})
		}
	}
	p.amend = append(p.amend, amendment{r.issue, l})
}

// write has bd make the issues that are not there, and give the others what they
// lack.
func (b *BD) write(ctx context.Context, sp *space, todo []row, known map[string]shown) error {
	var p plan
	for _, r := range todo {
		p.add(r, known)
	}
	for _, id := range p.anew {
		if err := b.remove(ctx, sp, id); err != nil {
			return err
		}
	}
	if err := b.create(ctx, sp, p.fresh); err != nil {
		return err
	}
	if err := b.batch(ctx, sp, p.moves); err != nil {
		return err
	}
	// A link to what a person deleted is refused, and a refusal undoes all of a batch.
	if err := b.batch(ctx, sp, p.links); err != nil {
		return err
	}
	for _, a := range p.amend {
		if err := b.amend(ctx, sp, a.issue, a.lacks); err != nil {
			return err
		}
	}
	return nil
}

// command is a line of bd batch about an issue.
type command struct{ issue, text string }

// move returns the command of bd batch that gives i its status.
func move(i Issue) string {
	if i.Status != Closed {
		return fmt.Sprintf("update %s status=%s", i.ID, i.Status)
	}
	text := reason(i.CloseReason)
	if text == "" {
		text = "Closed"
	}
	return fmt.Sprintf(`close %s "%s"`, i.ID, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text))
}

// isWord reports whether s is one word for bd batch.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f })
}

// create makes issues, all with one call: a new one comes with all it has. It is
// bd import and not bd create, because that has no flags for half of it and one
// call makes one issue. Both would write over an issue that exists.
func (b *BD) create(ctx context.Context, sp *space, fresh []Issue) error {
	if len(fresh) == 0 {
		return nil
	}
	var content []byte
	for _, i := range fresh {
		var err error
		i.Comments = slices.Clone(i.Comments)
		for n := range i.Comments {
			i.Comments[n].ID = nil // bd has its own, and takes none twice
		}
		if content, err = i.AppendLine(content); err != nil {
			return err
		}
	}
	a, err := b.withFile(sp, content, func(path string) (answer, error) {
		return b.call(ctx, sp.dir, "import", "--json", path)
	})
	if err != nil || a.fine() {
		return err
	}
	if a.isBusy() {
		return fmt.Errorf("bd import: database is busy: %w", ErrTransient)
	}
	if len(fresh) == 1 {
		b.refused(ctx, sp, fresh[0].ID, a)
		return nil // what is not there will be missed
	}
	for _, i := range fresh { // one of them spoils the others
		if err := b.create(ctx, sp, []Issue{i}); err != nil {
			return err
		}
	}
	return nil
}

// batch runs commands in one transaction, or if one of them is refused, each in
// its own.
func (b *BD) batch(ctx context.Context, sp *space, commands []command) error {
	if len(commands) == 0 {
		return nil
	}
	var content []byte
	for _, c := range commands {
		content = append(append(content, c.text...), '\n')
	}
	a, err := b.withFile(sp, content, func(path string) (answer, error) {
		return b.call(ctx, sp.dir, "batch", "--json", "--file="+path)
	})
	if a = a.without(commands); err != nil || a.fine() {
		return err
	}
	if a.isBusy() {
		return fmt.Errorf("bd batch: database is busy: %w", ErrTransient)
	}
	if len(commands) == 1 {
		b.refused(ctx, sp, commands[0].issue, a)
		return nil
	}
	for _, c := range commands {
		if err := b.batch(ctx, sp, []command{c}); err != nil {
			return err
		}
	}
	return nil
}

// amend gives an issue texts, labels and comments.
func (b *BD) amend(ctx context.Context, sp *space, i Issue, l lacks) error {
	args := []string{"update", "--json"}
	if l.title {
		args = append(args, "--title="+i.Title)
	}
	if l.description {
		text := i.Description
		if text == "-" { // bd would read its input
			text = "-\n"
		}
		args = append(args, "--description="+text)
	}
	for _, label := range l.labels {
		args = append(args, "--add-label="+label)
	}
	if len(args) > 2 {
		if err := b.told(ctx, sp, i.ID)(b.call(ctx, sp.dir, append(args, "--", i.ID)...)); err != nil {
			return err
		}
	}
	for _, c := range l.comments {
		err := b.told(ctx, sp, i.ID)(b.withFile(sp, []byte(c.Text), func(path string) (answer, error) {
			return b.call(ctx, sp.dir, "comments", "add", "--json", "--author="+c.Author, "--file="+path, "--", i.ID)
		}))
		if err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an issue, to be made anew. With it go the links of others to it:
// they are noted as missing, not as taken away by a person.
func (b *BD) remove(ctx context.Context, sp *space, id string) error {
	if err := b.unlink(ctx, sp.tenant, id); err != nil {
		return fmt.Errorf("%w: %w", ErrTransient, err)
	}
	return b.told(ctx, sp, id)(b.call(ctx, sp.dir, "delete", "--force", "--json", "--", id))
}

func (b *BD) unlink(ctx context.Context, tenant, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.flush(ctx); err != nil {
		return err
	}
	rows, err := b.rows(ctx, tenant, "id <> ? AND instr(written, ?) > 0", id, id)
	if err != nil {
		return err
	}
	return b.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, r := range rows {
			base, err := ParseLine([]byte(r.written))
			if err != nil {
				return err
			}
			base.Dependencies = slices.DeleteFunc(base.Dependencies, func(d Dependency) bool { return d.DependsOn == id })
			r.written, r.writing = row{issue: base}.record(), ""
			r.marks |= markDirty
			if err := saveRow(conn, beadKey{tenant, r.issue.ID}, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// told makes an error of an answer that is one for now; what is refused is missed
// later.
func (b *BD) told(ctx context.Context, sp *space, id string) func(answer, error) error {
	return func(a answer, err error) error {
		switch {
		case err != nil || a.fine():
			return err
		case a.isBusy():
			return fmt.Errorf("bd %s: database is busy: %w", a.command, ErrTransient)
		}
		b.refused(ctx, sp, id, a)
		return nil
	}
}

// refused notes that bd would not have an issue as it is to be.
func (b *BD) refused(ctx context.Context, sp *space, issue string, a answer) {
	sp.refused[issue] = true
	b.logger.WarnContext(ctx, "bd refused a change", "issue", issue, "command", a.command, "code", a.code)
}
