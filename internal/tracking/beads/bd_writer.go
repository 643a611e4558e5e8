package beads

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

type lacks struct {
	status, title, description bool
	labels                     []string
	dependencies               []Dependency
	comments                   []Comment
	recreate                   bool // bd can remove the old texts only with the whole issue
}

func (l lacks) any() bool {
	return l.status || l.title || l.description || l.recreate || len(l.labels)+len(l.dependencies)+len(l.comments) > 0
}

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
		l.recreate = theirs.Notes != ours.Notes || len(without(theirs.Comments, ours.Comments, Comment.key)) > 0
	}
	return l
}

func without[T any](list, others []T, key func(T) string) (rest []T) {
	has := count(others, key)
	for _, v := range list {
		if has[key(v)]--; has[key(v)] < 0 {
			rest = append(rest, v)
		}
	}
	return rest
}

type plan struct {
	remove       []string // issues to delete and create again
	create       []Issue
	moves, links []command
	amend        []amendment
}

type amendment struct {
	issue Issue
	lacks lacks
}

func (p *plan) add(r row, known map[string]shown) {
	theirs, ok := known[r.issue.ID]
	l := r.lacks(theirs.issue)
	if ok && l.recreate {
		p.remove = append(p.remove, r.issue.ID)
	}
	if !ok || l.recreate {
		p.create = append(p.create, r.issue)
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

type bdWriter struct {
	dir, tenant string
	runner      *runner
	table       *table
	logger      *slog.Logger

	refused map[string]bool // issues that bd refused in the latest write
}

func (w *bdWriter) write(ctx context.Context, todo []row, known map[string]shown) error {
	w.refused = make(map[string]bool)
	var p plan
	for _, r := range todo {
		p.add(r, known)
	}
	for _, id := range p.remove {
		if err := w.remove(ctx, id); err != nil {
			return err
		}
	}
	if err := w.create(ctx, p.create); err != nil {
		return err
	}
	if err := w.batch(ctx, p.moves); err != nil {
		return err
	}
	// If a linked issue was deleted, bd undoes the whole batch, so links have a batch of their own.
	if err := w.batch(ctx, p.links); err != nil {
		return err
	}
	for _, a := range p.amend {
		if err := w.amend(ctx, a.issue, a.lacks); err != nil {
			return err
		}
	}
	return nil
}

type command struct{ issue, text string }

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

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f })
}

// create calls bd import, because the command bd create lacks flags for many fields.
func (w *bdWriter) create(ctx context.Context, issues []Issue) error {
	if len(issues) == 0 {
		return nil
	}
	var content []byte
	for _, i := range issues {
		var err error
		i.Comments = slices.Clone(i.Comments)
		for n := range i.Comments {
			i.Comments[n].ID = nil // bd assigns an id, and refuses existing ids
		}
		if content, err = i.AppendLine(content); err != nil {
			return err
		}
	}
	a, err := w.runner.callWithFile(ctx, w.dir, content, func(path string) []string {
		return []string{"import", "--json", path}
	})
	if len(issues) == 1 || err != nil || a.ok() || a.isBusy() {
		return w.check(ctx, issues[0].ID, a, err)
	}
	// One refused issue makes the whole import fail, so import each of them alone.
	for _, i := range issues {
		if err := w.create(ctx, []Issue{i}); err != nil {
			return err
		}
	}
	return nil
}

// batch runs the commands one by one if bd refuses the transaction, so that one bad command does
// not block the others.
func (w *bdWriter) batch(ctx context.Context, commands []command) error {
	if len(commands) == 0 {
		return nil
	}
	var content []byte
	for _, c := range commands {
		content = append(append(content, c.text...), '\n')
	}
	a, err := w.runner.callWithFile(ctx, w.dir, content, func(path string) []string {
		return []string{"batch", "--json", "--file=" + path}
	})
	a = a.without(commands)
	if len(commands) == 1 || err != nil || a.ok() || a.isBusy() {
		return w.check(ctx, commands[0].issue, a, err)
	}
	for _, c := range commands {
		if err := w.batch(ctx, []command{c}); err != nil {
			return err
		}
	}
	return nil
}

func (w *bdWriter) amend(ctx context.Context, i Issue, l lacks) error {
	args := []string{"update", "--json"}
	if l.title {
		args = append(args, "--title="+i.Title)
	}
	if l.description {
		text := i.Description
		if text == "-" { // bd reads standard input for the text "-"
			text = "-\n"
		}
		args = append(args, "--description="+text)
	}
	for _, label := range l.labels {
		args = append(args, "--add-label="+label)
	}
	if len(args) > 2 {
		a, err := w.runner.call(ctx, w.dir, append(args, "--", i.ID)...)
		if err := w.check(ctx, i.ID, a, err); err != nil {
			return err
		}
	}
	for _, c := range l.comments {
		a, err := w.runner.callWithFile(ctx, w.dir, []byte(c.Text), func(path string) []string {
			return []string{"comments", "add", "--json", "--author=" + c.Author, "--file=" + path, "--", i.ID}
		})
		if err := w.check(ctx, i.ID, a, err); err != nil {
			return err
		}
	}
	return nil
}

// remove also forgets the links to the issue, because their disappearance must not look like a
// person's edit.
func (w *bdWriter) remove(ctx context.Context, id string) error {
	if err := w.table.unlink(ctx, w.tenant, id); err != nil {
		return fmt.Errorf("%w: %w", ErrTransient, err)
	}
	a, err := w.runner.call(ctx, w.dir, "delete", "--force", "--json", "--", id)
	return w.check(ctx, id, a, err)
}

func (w *bdWriter) check(ctx context.Context, issue string, a answer, err error) error {
	switch {
	case err != nil || a.ok():
		return err
	case a.isBusy():
		return fmt.Errorf("bd %s: database is busy: %w", a.command, ErrTransient)
	}
	w.refused[issue] = true
	w.logger.WarnContext(ctx, "bd refused a change", "issue", issue, "command", a.command, "code", a.code)
	return nil
}
