package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

var sqlClients = map[string]string{
	"psql": "-c --command", "mysql": "-e --execute", "mariadb": "-e --execute", "sqlcmd": "-Q -q", "clickhouse-client": "-q --query",
	"clickhouse": "-q --query", "cockroach": "-e --execute", "duckdb": "-c", "bq": "", "sqlite3": "", "sqlite": "", "usql": "-c --command",
	"mongosh": "--eval", "mongo": "--eval", "cqlsh": "-e --execute", "snowsql": "-q --query", "pgcli": "", "wp": "", "trino": "--execute", "beeline": "-e",
	"supabase": "", "snow": "-q --query", "turso": "", "d1": "", "sqlplus": "", "isql": "", "influx": "-execute", "pg:psql": "-c --command", "rails": "", "mycli": "-e", "litecli": "-e", "cypher-shell": "", "mysqlsh": "-e", "impala-shell": "-q", "ysqlsh": "-c", "sqlite-utils": "", "libsql": "", "hive": "-e", "redis-cli": "",
}

func destroysTables(cmd shell.Command, root string) finding {
	if f := resetsDatabase(cmd); f.what != "" {
		return f
	}
	name, args := cmd.Name, cmd.Args
	if _, ok := sqlClients[name]; !ok {
		if name, args = innerClient(cmd); name == "" {
			return statementIn(cmd)
		}
	}
	if strings.HasPrefix(name, "sqlite") && onScratch(args, cmd.Dir, root) {
		return finding{}
	}
	options := strings.Fields(sqlClients[name])
	for i, a := range args {
		isCode := i > 0 && slices.Contains(options, args[i-1].Text) || looksLikeCode(a.Text)
		if !isCode {
			continue
		}
		if what := destroysRows(codeIn(a.Text, options)); what != "" {
			return blocked(what)
		}
	}
	if what := destroysRows(cmd.Input); what != "" {
		return blocked(what)
	}
	return unknownCode(name, args, options, cmd.Piped)
}

func looksLikeCode(text string) bool {
	return strings.ContainsAny(text, " (") || strings.Contains(text, "/*")
}

func codeIn(text string, options []string) string {
	for _, opt := range options {
		if rest, ok := strings.CutPrefix(text, opt); ok && len(opt) == 2 {
			return rest
		} else if rest, ok := strings.CutPrefix(text, opt+"="); ok {
			return rest
		}
	}
	return text
}

func unknownCode(name string, args []shell.Word, options []string, piped bool) finding {
	given := false
	for i, a := range args {
		isCode := i > 0 && slices.Contains(options, args[i-1].Text)
		if isCode && a.Open && strings.HasPrefix(a.Text, shell.Hole) {
			return doubted("the statements are only known when the command runs")
		}
		if isRiskyScript(a.Text) {
			return doubted("the name of the script says that it removes data")
		}
		given = given || isCode || endsInC(a.Text)
	}
	if piped && !given && readsStatements[name] {
		return doubted("the statements are only known when the command runs")
	}
	return finding{}
}

func endsInC(text string) bool {
	return len(text) > 2 && strings.HasPrefix(text, "-") && strings.HasSuffix(text, "c")
}

var readsStatements = words("psql mysql mariadb mongosh")

func isRiskyScript(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, ".sql") && risky.MatchString(base)
}

var risky = regexp.MustCompile(`drop|truncate|wipe|reset|purge|delete|clean`)

func innerClient(cmd shell.Command) (string, []shell.Word) {
	switch cmd.Name {
	case "docker", "podman", "docker-compose", "kubectl", "oc", "nerdctl", "heroku", "fly":
		for i, a := range cmd.Args {
			if _, ok := sqlClients[a.Text]; ok && i > 1 {
				return a.Text, cmd.Args[i+1:]
			}
		}
	}
	return "", nil
}

var resets = words("flush reset_db sqlflush migrate:fresh migrate:reset db:wipe db:drop db:drop:all db:reset db:drop:_unsafe schema:drop db:truncate doctrine:database:drop doctrine:schema:drop db:fresh")

func resetsDatabase(cmd shell.Command) finding {
	for i, a := range cmd.Args {
		if (strings.Contains(a.Text, ":") || isDjango(cmd, i)) && resets[a.Text] {
			return blocked(a.Text + " empties a database")
		}
	}
	switch cmd.Name {
	case "redis-cli":
		if slices.ContainsFunc(cmd.Args, func(a shell.Word) bool { return a.Fed }) {
			return doubted("redis-cli removes or changes keys that are only known when it runs")
		}
	case "pg_restore":
		if args := options(cmd.Args); args.has("c") || args.exact("clean") {
			return blocked("pg_restore --clean drops the objects of a database")
		}
	}
	return finding{}
}

func isDjango(cmd shell.Command, i int) bool {
	return cmd.Name == "manage.py" || cmd.Name == "django-admin" || i > 0 && strings.HasSuffix(cmd.Args[i-1].Text, "manage.py")
}

var statement = regexp.MustCompile(`(?i)^\s*(?:begin\s*;\s*)?(?:drop\s+(?:table|database|schema|keyspace)|truncate\s+table|delete\s+from|alter\s+table)\b`)

var textPrograms = words("echo printf grep egrep fgrep rg ag git gh cat sed awk test [ jq tee say notify-send glab man which claude")

func statementIn(cmd shell.Command) finding {
	if textPrograms[cmd.Name] {
		return finding{}
	}
	for _, a := range cmd.Args {
		if len(a.Text) < 12 || !strings.Contains(a.Text, " ") {
			continue
		}
		_, value, _ := strings.Cut(a.Text, "=")
		for _, text := range []string{a.Text, value} {
			if begins(text, "drop", "truncate", "delete", "alter", "begin") && statement.MatchString(text) && destroysRows(text) != "" {
				return blocked(destroysRows(text))
			}
		}
	}
	return finding{}
}

func begins(text string, list ...string) bool {
	text = strings.TrimSpace(text)
	return slices.ContainsFunc(list, func(w string) bool { return len(text) >= len(w) && strings.EqualFold(text[:len(w)], w) })
}

func onScratch(args []shell.Word, dir, root string) bool {
	for _, a := range args {
		if a.Text == "-readonly" || a.Text == "-safe" {
			return true
		}
		if !strings.HasPrefix(a.Text, "-") {
			return a.Text == ":memory:" || locate(a, dir, root) == locationTemp
		}
	}
	return false
}

var (
	sqlComments = regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*`)
	sqlVersions = regexp.MustCompile(`/\*!\d*`) // MySQL runs the text of such a comment
	sqlJoins    = regexp.MustCompile(`'\s*\|\|\s*'`)
	sqlTexts    = regexp.MustCompile(`'(?:[^']|'')*'`)
	sqlDrops    = regexp.MustCompile(`(?i)\bdrop\s+(?:database|schema|table|user|role|tablespace|keyspace|view|collection|index|sequence|owned|type|function|trigger|extension|policy|server)\b`)
	sqlTruncate = regexp.MustCompile(`(?i)(?:^|;|\bbegin\b)\s*truncate\s+(?:table\s+)?\S`)
	sqlDelete   = regexp.MustCompile(`(?i)\bdelete\s+from\s+[^;]*`)
	sqlUpdate   = regexp.MustCompile(`(?i)(?:^|;)\s*update\s+\S+\s+set\s+[^;]*`)
	sqlWhere    = regexp.MustCompile(`(?i)\b(?:where|using|limit)\b`)
	sqlAlways   = regexp.MustCompile(`(?i)\bwhere\s+(?:1\s*=\s*1|''\s*=\s*''|true|1|\w+\s+is\s+not\s+null|\w+\s*>=?\s*-?[01])\s*;?\s*$`)
	sqlColumn   = regexp.MustCompile(`(?i)\balter\s+table\s+[^;]*\bdrop\s+(?:column\s+)?\w`)
	sqlRuns     = regexp.MustCompile(`(?i)\b(?:from|to)\s+program\b|\bxp_cmdshell\b|\binto\s+(?:out|dump)file\b|\bsuperuser\b|\bgrant\s+all\b|\bexecute\s+'drop\b|\bdetach\s+delete\b|\\gexec\b`)
	mongoDrops  = regexp.MustCompile(`(?i)\bdropDatabase\b|\.drop\(\s*\)|\.(?:deleteMany|remove)\(\s*(?:\{\s*\})?\s*\)|\bdropAllUsers\b|\.all\(\)\.delete\(\)|\b(?:delete_all|destroy_all)\b|\bTable::drop|::truncate\(\)`)
	redisFlush  = regexp.MustCompile(`(?im)(?:^\s*|call\(['"])flush(?:all|db)\b`)
)

func destroysRows(code string) string {
	if len(code) < 8 {
		return ""
	}
	code = sqlVersions.ReplaceAllString(code, " ")
	code = sqlJoins.ReplaceAllString(code, "")
	if sqlRuns.MatchString(code) {
		return "the statement starts a program or changes rights"
	}
	code = sqlTexts.ReplaceAllString(sqlComments.ReplaceAllString(code, " "), "''")
	switch {
	case sqlDrops.MatchString(code):
		return "SQL drop removes tables or databases"
	case sqlTruncate.MatchString(code):
		return "SQL truncate removes all rows of a table"
	case sqlColumn.MatchString(code):
		return "SQL alter table removes a column"
	case everyRow(sqlDelete, code):
		return "SQL delete without where removes all rows of a table"
	case everyRow(sqlUpdate, code):
		return "SQL update without where changes all rows of a table"
	case mongoDrops.MatchString(code):
		return "the code removes a collection or a database"
	case redisFlush.MatchString(code):
		return "redis flush removes all keys"
	}
	return ""
}

func everyRow(statement *regexp.Regexp, code string) bool {
	return slices.ContainsFunc(statement.FindAllString(code, -1), func(s string) bool {
		return !sqlWhere.MatchString(s) || sqlAlways.MatchString(s)
	})
}

var (
	deletesCall = regexp.MustCompile(`(?i)\b(?:unlink|rmtree|rm_rf|rm_r|remove_tree|rimraf|rmdir|remove|rm|delete)(?:Sync)?\s*[( ]`)
	namesHome   = regexp.MustCompile(`expanduser|Path\.home|Dir\.home|homedir\(|ENV\{?\[?['"]?HOME|environ\[['"]HOME|process\.env\.HOME|getenv\(['"]HOME`)
	executesSQL = regexp.MustCompile(`(?i)\b(?:execute|executescript|exec|query|raw|do)\w*\(`)
	deletesFile = regexp.MustCompile(`(?i)\b(?:unlink|rmtree|rm_rf|rm_r|remove_tree|rimraf|rmdir|remove|rm|delete|truncate)(?:Sync)?\b`)
)

func codeDestroys(code, dir, root string) finding {
	if mongoDrops.MatchString(code) {
		return doubted("the code removes a collection or a table")
	}
	sql, files := executesSQL.MatchString(code), deletesFile.MatchString(code)
	if !sql && !files {
		return finding{}
	}
	if files && deletesCall.MatchString(code) && namesHome.MatchString(code) {
		return doubted("code removes files of a home directory")
	}
	for _, text := range shell.Literals(code) {
		if what := destroysRows(text); sql && what != "" {
			return blocked(what)
		}
		if files && removesOutside(text, deletesCall.MatchString(code), dir, root) {
			return doubted("code removes files outside the working directory and temporary directories")
		}
	}
	return finding{}
}

func removesOutside(text string, deletes bool, dir, root string) bool {
	name := homed(text)
	if !strings.HasPrefix(name, "/") || strings.ContainsAny(text, " \n") || len(text) < 2 && !deletes {
		return false
	}
	at := locate(shell.Word{Text: name, Glob: strings.Contains(name, "*")}, dir, root)
	return at == locationOutside || at == locationCritical
}
