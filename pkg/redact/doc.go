// Package redact replaces secrets and personal data in texts and events before
// they are stored. It reports the rule and the position of each finding, but never
// logs or returns the finding itself.
//
// # Findings
//
// Secrets are found by the rules of the gitleaks module in the version of
// go.mod, with the same results as in the library. The package ignores the
// marker "gitleaks:allow" in comments, because the text of an agent must not
// switch off redaction. Rules for files of certain names apply to a string if
// an earlier member of its object, such as "file_path", has the name of the
// file. A file name never makes an allow-list apply.
//
// A string can also be a secret because of the name of its member, such as
// {"api_key": "…"}, or because it is a copy of another secret in the same event.
//
// Personal data consists of:
//
//   - e-mail addresses
//   - card numbers with the prefix and length of a scheme and a correct check digit
//   - IBANs with a correct length and checksum
//   - phone numbers with a plus and country code, or in a North American format
//   - IP addresses, except loopback, unspecified, multicast and network addresses
//
// # Markers
//
// The markers are "[SECRET_REDACTED]", "[EMAIL_REDACTED]", "[CARD_REDACTED]",
// "[IBAN_REDACTED]", "[PHONE_REDACTED]" and "[IP_REDACTED]". Overlapping findings
// share one marker. A second redaction changes nothing. In JSON only string values
// change. All other bytes stay the same, including escapes. The result depends on
// the input only.
//
// # Limits
//
// The package does not find:
//
//   - secrets that no rule describes, such as a password in prose
//   - encoded text, such as base64, percent escapes and JSON inside of JSON strings
//   - secrets that are spread over two strings or two events
//   - anything in names of members, numbers or attributes of an event
//   - national phone numbers of other countries, names, addresses, birthdays
//
// It also redacts text that only looks like personal data, such as an order number
// with the form of a card number.
//
// # Time and memory
//
// The time is linear in the length of the text, because all expressions are
// RE2. A text with new findings after ten rounds is replaced as a whole. Data
// lists at most a thousand findings and counts the others. An attribute with
// findings is cut off at 2 KiB.
package redact
