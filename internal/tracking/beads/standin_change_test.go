package beads_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func backgroundForTheStandIn() context.Context { return context.Background() }

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }

// startChild starts a process that survives this one unless its group is killed.
func startChild(dir string) {
	child := exec.Command("sleep", "3600")
	if child.Start() == nil {
		_ = os.WriteFile(filepath.Join(dir, "child"), []byte(strconv.Itoa(child.Process.Pid)), 0o600)
	}
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func (c *cli) apply() (any, error) {
	switch c.args[0] {
	case "import":
		return c.importFile()
	case "batch":
		return c.batch()
	case "update", "close", "reopen":
		return c.update()
	case "comments":
		return c.comment()
	case "delete":
		id, err := c.resolve(c.args[1])
		delete(c.state, id)
		for _, other := range c.state {
			other["dependencies"] = slices.DeleteFunc(anyList(other["dependencies"]), func(d any) bool {
				m, _ := d.(map[string]any)
				return m["depends_on_id"] == id
			})
		}
		return map[string]any{"deleted": id}, err
	}
	return nil, fmt.Errorf("unknown command")
}

func anyList(v any) []any { list, _ := v.([]any); return list }

// importFile overwrites existing issues except labels and comments, like bd.
func (c *cli) importFile() (any, error) {
	lines, err := c.file()
	if err != nil {
		return nil, err
	}
	for _, text := range lines {
		var record map[string]any
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			return nil, err
		}
		title := fmt.Sprint(record["title"])
		if len(title) == 0 || len(title) > 500 || c.is(orderReject) && strings.Contains(title, "poison") {
			return nil, fmt.Errorf("import failed: validation failed: title must be 500 characters or less (got %d)", len(title))
		}
		id := fmt.Sprint(record["id"])
		for _, comment := range asList(record["comments"]) {
			key := comment["id"]
			if key == nil {
				comment["id"] = commentID()
			} else if c.hasComment(fmt.Sprint(key)) {
				return nil, fmt.Errorf("import failed: failed to insert comment for %s: Error 1062: duplicate primary key given: [%v]", id, key)
			}
		}
		c.state[id] = record
	}
	for _, text := range lines { // skip links to missing issues
		var record map[string]any
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			return nil, err
		}
		list := slices.DeleteFunc(anyList(record["dependencies"]), func(d any) bool {
			m, _ := d.(map[string]any)
			return c.state[fmt.Sprint(m["depends_on_id"])] == nil
		})
		c.state[fmt.Sprint(record["id"])]["dependencies"] = list
	}
	return map[string]any{"created": len(lines)}, nil
}

func commentID() string { return fmt.Sprintf("c-%d", rand.Uint64()) }

func (c *cli) hasComment(id string) bool {
	for _, issue := range c.state {
		for _, comment := range asList(issue["comments"]) {
			if fmt.Sprint(comment["id"]) == id {
				return true
			}
		}
	}
	return false
}

func (c *cli) setStatus(id, status, reason string) {
	issue := c.state[id]
	issue["status"], issue["updated_at"] = status, now()
	delete(issue, "closed_at")
	delete(issue, "close_reason")
	if status == "closed" {
		issue["closed_at"], issue["close_reason"] = now(), reason
	}
}

// batch applies all commands or none. It matches ids exactly.
func (c *cli) batch() (any, error) {
	lines, err := c.file()
	if err != nil {
		return nil, err
	}
	if len(lines) > atOnce {
		time.Sleep(time.Hour)
	}
	for n, text := range lines {
		words := split(text)
		id := words[1]
		if words[0] == "dep" {
			id = words[2]
			if c.state[words[3]] == nil {
				return nil, fmt.Errorf("line %d: issue %s not found", n+1, words[3])
			}
		}
		if c.state[id] == nil {
			return nil, fmt.Errorf("line %d: issue not found: %s", n+1, id)
		}
		switch words[0] {
		case "close":
			c.setStatus(id, "closed", strings.Join(words[2:], " "))
		case "update":
			c.setStatus(id, strings.TrimPrefix(words[2], "status="), "")
		case "dep":
			c.state[id]["dependencies"] = append(anyList(c.state[id]["dependencies"]), map[string]any{
				"issue_id": id, "depends_on_id": words[3], "type": words[4], "created_at": now(),
			})
		default:
			return nil, fmt.Errorf("line %d: unsupported batch command", n+1)
		}
	}
	return map[string]any{"operations": len(lines), "status": "ok"}, nil
}

func split(text string) (words []string) {
	var word strings.Builder
	quoted, has := false, false
	for n := 0; n < len(text); n++ {
		switch ch := text[n]; {
		case quoted && ch == '\\' && n+1 < len(text) && (text[n+1] == '"' || text[n+1] == '\\'):
			n++
			word.WriteByte(text[n])
		case ch == '"':
			quoted, has = !quoted, true
		case ch == ' ' && !quoted:
			if has {
				words = append(words, word.String())
				word.Reset()
				has = false
			}
		default:
			word.WriteByte(ch)
			has = true
		}
	}
	if has {
		words = append(words, word.String())
	}
	return words
}

func (c *cli) update() (any, error) {
	id, err := c.resolve(c.args[1])
	if err != nil {
		return nil, err
	}
	issue := c.state[id]
	for name, values := range c.flags {
		switch name {
		case "title", "assignee":
			issue[name] = strings.TrimSpace(values[0])
		case "description":
			if values[0] == "-" {
				return nil, fmt.Errorf("would read standard input")
			}
			issue[name] = values[0]
		case "add-label":
			issue["labels"] = append(anyList(issue["labels"]), asAny(values)...)
		case "status":
			c.setStatus(id, values[0], "")
		}
	}
	switch c.args[0] {
	case "close":
		c.setStatus(id, "closed", strings.Join(c.flags["reason"], ""))
	case "reopen":
		c.setStatus(id, "open", "")
	}
	issue["updated_at"] = now()
	return []any{issue}, nil
}

func asAny(list []string) (out []any) {
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func (c *cli) comment() (any, error) {
	id, err := c.resolve(c.args[2])
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(c.flags["file"][0])
	if err != nil {
		return nil, err
	}
	issue := c.state[id]
	list := anyList(issue["comments"])
	comment := map[string]any{
		"id": commentID(), "issue_id": id, "author": c.flags["author"][0], "text": string(text), "created_at": now(),
	}
	issue["comments"] = append(list, comment)
	return comment, nil
}
