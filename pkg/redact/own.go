package redact

import (
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

func ownRules() []*rule {
	list := []*rule{
		{id: "own-url-password", regex: `://[^\s:/?#@"'<>\\]*:([^\s/@"'<>\\]{2,})@[\w.\[-]`, keywords: []string{"://"}, plausible: isNoPlaceholder},
		{id: "own-bearer-token", regex: `(?i)bearer["']?[\s:=]{1,3}["']?([\w.~+/-]{16,}={0,2})`, keywords: []string{"bearer"}, entropy: 3, plausible: isToken},
		{id: "own-basic-auth", regex: `(?i)authorization["']?\s{0,3}[:=]\s{0,3}["']?basic\s{1,3}([a-z0-9+/]{8,}={0,2})`, keywords: []string{"authorization"}, plausible: isUserAndPassword},
		{id: "own-registry-auth", regex: `(?i)auth["']?\s{0,3}[:=]\s{0,3}["']?([a-z0-9+/]{12,}={0,2})`, keywords: []string{"auth"}, plausible: isUserAndPassword},
		{id: "own-password", regex: passwordName + `["']?\s{0,3}(?:=>|:=|[:=])\s{0,3}(?:"([^"\r\n\\]{4,})"|'([^'\r\n\\]{4,})')`, keywords: passwordWords, plausible: isPassword},
		{id: "own-password", regex: passwordName + `[ \t]?[:=][ \t]{0,3}([^\s"'` + "`" + `,;&<>(){}\[\]\\]{6,})(?:[\s"'` + "`" + `,;&<\\]|$)`, keywords: passwordWords, plausible: isBarePassword},
		{id: "own-password", regex: `(?i)login\s{1,9}\S+\s{1,9}password\s{1,9}(\S{4,})`, keywords: []string{"login"}, plausible: isPassword},
		{id: "own-password", regex: `:(?:5432|\*):[\w*.-]+:[\w*.-]+:(\S{4,})`, keywords: []string{":5432:", ":*:"}, plausible: isNoPlaceholder},
		{id: "own-session-cookie", regex: `(?i)(?:` + strings.ReplaceAll(strings.Join(cookies, "|"), ".", `\.`) + `)([\w%.~+/-]{20,}={0,2})`, keywords: cookies, entropy: 3.5, plausible: isToken},
		{id: "own-azure-key", regex: `(?i)(?:account|sharedaccess)key=([a-z0-9+/]{40,}={0,2})`, keywords: []string{"accountkey=", "sharedaccesskey="}},
		{id: "own-azure-key", regex: `(?i)sig=([\w%+/-]{40,}={0,2})`, keywords: []string{"sig="}, entropy: 3.5, before: noWord},
		{id: "own-aws-secret", regex: `(?i)secret_?(?:access_?)?key["']?\s{0,3}[:=]\s{0,3}["']?([a-z0-9+/]{40})`, keywords: []string{"secret"}, entropy: 3.5},
		{id: "own-private-key", regex: `(?i)-----BEGIN[ A-Z0-9_-]{0,40}PRIVATE KEY[ A-Z]{0,10}-----\s{1,4}((?:[a-z0-9+/=]{16,}\s{0,4})+)`, keywords: []string{"-----begin"}},
		{id: "own-telegram-token", regex: `:(AA[\w-]{30,})`, keywords: []string{":aa"}, entropy: 3, before: endsInNumber},
	}
	list = append(list, commandRules()...)
	list = append(list, vendorRules()...)
	for _, r := range list {
		r.own = true
		if r.reach == 0 {
			r.reach = 8 << 10
		}
	}
	return list
}

// An implausible match can contain a plausible one, so applyOwn searches again inside of the match.
func (r *rule) applyOwn(list []finding, in *subject, positions []int32) []finding {
	if positions == nil {
		positions = r.occurrences(in.text)
	}
	from := 0
	for _, position := range positions {
		p := int(position)
		if p < from || r.before != nil && !r.before(in.text[:p]) {
			continue
		}
		m := r.pattern.FindStringIndex(in.text[p:min(len(in.text), p+r.reach)])
		if m == nil {
			continue
		}
		f, ok := r.judge(in, p, p+m[1], nil)
		if ok {
			list = append(list, f)
		}
		if ok || m[1] > maxAgain {
			from = p + m[1]
		}
	}
	return list
}

const maxAgain = 512

func (r *rule) occurrences(text string) (positions []int32) {
	low := lowerASCII(text)
	for _, word := range r.keywords {
		for i := 0; i < min(len(low), math.MaxInt32); i++ {
			n := strings.Index(low[i:], word)
			if n < 0 {
				break
			}
			i += n
			positions = append(positions, int32(i))
		}
	}
	slices.Sort(positions)
	return positions
}

func noWord(text string) bool { return text == "" || !isWord(text[len(text)-1]) }

func endsInNumber(text string) bool {
	return len(text) >= 8 && strings.Trim(text[len(text)-8:], "0123456789") == ""
}

const passwordName = `(?i)(?:password|passwd|passphrase|pwd)(?:_(?:prod|production|staging|dev|test|root|admin|old|new|\d{1,2}))?`

var passwordWords = []string{"password", "passwd", "passphrase", "pwd"}

var cookies = []string{
	"connect.sid=", "session=", "sessionid=", "session_id=", "phpsessid=", "jsessionid=", "asp.net_sessionid=", "sid=",
	"csrftoken=", "csrf_token=", "csrf-token=", "csrfmiddlewaretoken=", "xsrf-token=", "remember_token=", "auth_token=",
}

var commands = []struct{ programs, flag string }{
	{"sshpass", `-p\s?`},
	{"mysql mysqldump mysqladmin mariadb mariadb-dump", `(?:-p|--password[ =])`},
	{"docker podman helm oras buildah skopeo", `login\s(?:[^\n|;&]*?\s)?(?:-p|--password)[ =]`},
	{"redis-cli", `(?:-a|--pass)\s`},
	{"mongo mongosh mongodump mongorestore", `(?:-p|--password)[ =]`},
	{"ldapsearch ldapmodify ldapadd ldapwhoami ldapdelete ldappasswd", `-w\s`},
	{"curl wget", `(?:-u|--user|--proxy-user|-U)[ =]?["']?[\w.@+-]+:`},
	{"psql wget svn cqlsh", `--password[ =]`},
	{"sqlcmd", `-P\s?`},
}

func commandRules() (list []*rule) {
	for _, c := range commands {
		programs := strings.Fields(c.programs)
		list = append(list, &rule{
			id: "own-command-password", regex: `(?:` + strings.Join(programs, "|") + `)\s(?:[^\n|;&]*?\s)?` + c.flag + `["']?([^\s"'|;&<>\\]{4,})`,
			keywords: programs, plausible: isNoPlaceholder, before: noWord, reach: 512,
		})
	}
	return list
}

// vendors lists the prefixes of vendors' tokens, with an expression for the rest. Lengths are
// minimum lengths, because vendors change them.
var vendors = []struct{ prefixes, rest string }{
	{"sk-or-v1- sk-or-v2-", `[A-Za-z0-9]{32,}`},
	{"gsk_ xai- csk- pplx- fw_", `[A-Za-z0-9]{32,}`},
	{"r8_ hf_ rnd_", `[A-Za-z0-9]{28,}`},
	{"sk-ant-", `[a-z]{2,10}\d\d-[\w-]{40,}`},
	{"sk-proj- sk-svcacct- sk-admin- nvapi- jina_", `[\w-]{40,}`},
	{"sk-", `[A-Za-z0-9]{32,}`},
	{"sk-lf-", `[0-9a-f-]{30,}`},
	{"AIza ya29.", `[\w-]{30,}`},
	{"tvly- lsv2_pt_ lsv2_sk_", `[\w-]{24,}`},
	{"gho_ ghp_ ghr_ ghs_ ghu_ npm_", `[A-Za-z0-9]{30,}`},
	{"github_pat_", `\w{40,}`},
	{"glpat- glptt- gldt- glrt- glcbt- gloas- glsoat- glft- glimt- dckr_pat_ dckr_oat_", `[\w.-]{20,}`},
	{"pypi-", `[\w-]{50,}`},
	{"sk_live_ sk_test_ rk_live_ rk_test_", `[A-Za-z0-9]{16,}`},
	{"whsec_", `[A-Za-z0-9+/]{24,}={0,2}`},
	{"xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- tskey-", `[\w-]{20,}`},
	{"hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", `([\w/]{30,})`},
	{"discord.com/api/webhooks/ discordapp.com/api/webhooks/", `(\d{15,}/[\w-]{40,})`},
	{"dop_v1_ doo_v1_ dor_v1_ sbp_", `[0-9a-f]{40,}`},
	{"hvs. hvb. hvr.", `[\w-]{24,}`},
	{"glsa_ glc_", `[\w=+/]{30,}`},
	{"sqp_ squ_ sqa_ shpat_ shpca_ shppa_ shpss_ dapi", `[0-9a-fA-F]{30,}`},
	{"ntn_ lin_api_ lin_oauth_ phx_ nfp_", `[A-Za-z0-9]{32,}`},
	{"SG.", `[\w-]{16,}\.[\w-]{30,}`},
	{"dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.", `[\w.-]{30,}`},
	{"figd_ ATATT3 fo1_", `[\w=-]{38,}`},
	{"sntrys_ sntryu_", `[\w=+/]{40,}`},
	{"AGE-SECRET-KEY-1", `[A-Z0-9]{50,}`},
	{"xkeysib- pul- PMAK-", `[0-9a-f-]{40,}`},
}

func vendorRules() (list []*rule) {
	for _, v := range vendors {
		prefixes := strings.Fields(v.prefixes)
		list = append(list, &rule{
			id: "own-vendor-token", regex: `(?:` + strings.ReplaceAll(strings.Join(prefixes, "|"), ".", `\.`) + `)` + v.rest,
			keywords: lowered(prefixes), entropy: 2.5, plausible: isToken, before: noWord,
		})
	}
	return list
}

var placeholder = lazily(`(?i)^(?:pass(?:word|wd|phrase)?|pwd|secret|token|user|key|none|null|true|false|string|undefined|\.+)$|^[$%]?[{<(\[]|^%[a-z]$|^\$[a-z_]|change.?me|your|example|placeholder|redacted|dummy|x{4}|\*{3}|\.{3}`)

var fillers = lazily(`(?i)my|the|super|secret|password|passwd|passphrase|pass|test|user|token|key|abc|def|foo|bar|123(?:4(?:5(?:6(?:7(?:89?0?)?)?)?)?)?|[_-]`)

func isNoPlaceholder(secret string) bool {
	return !placeholder().MatchString(secret) && fillers().ReplaceAllString(secret, "") != ""
}

// isToken rejects short texts that begin with "eyJ", because they are web tokens that were cut off.
func isToken(secret string) bool {
	return strings.ContainsAny(secret, "0123456789") && isNoPlaceholder(secret) && (len(secret) >= 50 || !strings.HasPrefix(secret, "eyJ"))
}

// isPassword rejects plain words, because a member named password can also contain a text for
// people.
func isPassword(secret string) bool {
	return !strings.ContainsRune(secret, ' ') && strings.ContainsFunc(secret, unicode.IsLetter) &&
		strings.ContainsAny(secret, "0123456789!@#$%^&*?+") && !strings.HasPrefix(secret, "/") && !strings.HasPrefix(secret, "~") && isNoPlaceholder(secret)
}

var variable = lazily(`^\w+(?:\??\.\w+)+$`)

func isBarePassword(secret string) bool { return isPassword(secret) && !variable().MatchString(secret) }

func isUserAndPassword(secret string) bool {
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(secret, "="))
	return err == nil && strings.ContainsRune(string(text), ':') && !strings.ContainsFunc(string(text), unicode.IsControl)
}

var keyName = lazily(`(?i)(?:api|app|auth|access|account|admin|cred|pass|private|secret|token)[\w.-]*["'\s:=>]*$`)

// Nested JSON has many hashes in members with harmless names, such as cache_key.
func isHash(text string, start, end int) bool {
	return isHex(text[start:end]) && !keyName().MatchString(text[max(0, start-60):start])
}

func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
