// Package redact takes secrets and personal data out of texts and events before
// they are stored, and says which rule found something where. It never says, logs
// or returns in an error what it found.
//
// # What is found
//
// Secrets, by the rules of the gitleaks module in the version that go.mod names:
// keywords, expression, secret group, entropy, stop words and allow-lists, with
// the results that the library has for a text rule by rule. The rules are read
// from the module as data. Its markers in comments ("gitleaks:allow") have no
// effect: what an agent writes does not switch redaction off. Names of files are
// looked at only in events: a string beside a member such as "file_path" is
// searched by the rules for files of that name too. Names that allow-lists have
// never make a finding go away.
//
// A secret may also be one because of the name that its member has
// ({"api_key": "…"}), and because it is a copy of another one in the same event.
//
// Personal data: e-mail addresses; card numbers with a scheme's prefix and
// length and the right check digit; IBANs of the right length and checksum; phone
// numbers with a plus and country code or written the North American way; IP
// addresses, other than loopback, unspecified, multicast and network addresses.
//
// # What stands there instead
//
// "[SECRET_REDACTED]", "[EMAIL_REDACTED]", "[CARD_REDACTED]", "[IBAN_REDACTED]",
// "[PHONE_REDACTED]" or "[IP_REDACTED]". What overlaps gets one marker. A text is
// searched again with its markers until nothing is found, so that to redact again
// changes nothing. In JSON only the texts of strings change: everything else
// keeps its bytes, escapes included. The result depends on the input alone.
//
// # What is not found
//
//   - What no rule describes. A password in prose is a word among words.
//   - What is encoded: base64, percent escapes, a second level of JSON escapes.
//     Escapes of the JSON itself are resolved before the search.
//   - A secret that is spread over two strings, or over two events.
//   - Names of members, numbers, and the attributes of an event: they name runs,
//     users and calls, and those who use them choose them.
//   - National phone numbers of other countries, names, addresses, birthdays.
//   - What is not personal but looks so is redacted all the same: an order number
//     that passes for a card, an address in documentation.
//
// # Time and memory
//
// One pass over a text finds the keywords of all rules. A rule is compiled when
// its keyword occurs for the first time, and tried only next to it where its
// expression allows that. All expressions are RE2: time is linear in the length of
// a text, whatever it holds. A text that still yields findings after ten rounds,
// which takes some craft, is replaced as a whole. An event lists at most a
// thousand findings one by one and counts the others. A [Redactor] is immutable and
// safe for concurrent use.
package redact
