"""Prints calls, outcomes, end, tokens and stated cost of a recorded run.

It follows docs/import.md and shares no code with the import.
Usage: outcomes.py FORMAT FILE
"""

import json
import re
import sys


class Run:
    def __init__(self):
        self.status = "unknown"
        self.calls = {}  # state by id; None without a result
        self.cost = 0.0
        self.tokens = {"input": 0, "output": 0, "cache_creation": 0, "cache_read": 0}

    def spend(self, **tokens):
        for name, n in tokens.items():
            self.tokens[name] += n or 0

    def report(self):
        def count(state):
            return sum(1 for s in self.calls.values() if s == state)

        return {
            "Status": self.status, "Calls": len(self.calls), "Failed": count("error"), "Denied": count("denied"),
            "Interrupted": count("interrupted"), "Unanswered": count(None), "Cost": self.cost, "Tokens": self.tokens,
        }


def texts(value):
    """Returns all strings below a JSON value, joined by line feeds."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    return "\n".join(texts(v) for v in value) if isinstance(value, list) else ""


def gemini(doc):
    run = Run()
    for message in doc["messages"]:
        if message["type"] == "info" and "Request cancelled." in texts(message.get("content")):
            run.status = "interrupted"
        if message["type"] == "user":
            run.status = "unknown"
        if message["type"] != "gemini":
            continue
        run.status = "completed" if texts(message.get("content")).strip() else "unknown"
        for call in message.get("toolCalls") or []:
            run.calls[call["id"]] = gemini_result(call)
            run.status = "unknown"
        used = message.get("tokens") or {}
        cached = used.get("cached", 0)
        run.spend(input=used.get("input", 0) - cached + used.get("tool", 0), output=used.get("output", 0) + used.get("thoughts", 0), cache_read=cached)
    return run


def gemini_result(call):
    if call["status"] == "cancelled":
        refused = re.search("User did not allow tool call|User denied execution", texts(call.get("result")))
        return "denied" if refused else "interrupted"
    if call["status"] not in ("success", "error"):
        return None
    code = re.search(r"^Exit Code: (\d+)$", texts(call.get("result")), re.M)
    failed = call["name"] == "run_shell_command" and code and code.group(1) != "0"
    return "error" if failed or call["status"] == "error" else "success"


def openhands(doc):
    run = Run()
    last = None
    for number, item in enumerate(doc["history"]):
        action, observation = item.get("action"), item.get("observation")
        if action and item.get("source", "agent") == "agent" and action not in ("message", "system", "recall"):
            last = str(item.get("id", number))
            run.calls[last] = None
        if observation:
            cause = str(item.get("cause", last))
            if cause in run.calls:
                run.calls[cause] = openhands_result(item)
        if action == "finish":
            run.status = "completed"
    if doc.get("error"):
        run.status = "failed"
    metrics = doc.get("metrics") or {}
    run.cost = metrics.get("accumulated_cost") or 0.0
    used = metrics.get("accumulated_token_usage") or {}
    read, written = used.get("cache_read_tokens", 0), used.get("cache_write_tokens", 0)
    run.spend(input=used.get("prompt_tokens", 0) - read - written, output=used.get("completion_tokens", 0), cache_read=read, cache_creation=written)
    return run


def openhands_result(item):
    kind, content = item["observation"], texts(item.get("content"))
    extras = item.get("extras") or {}
    code = (extras.get("metadata") or {}).get("exit_code", extras.get("exit_code"))
    if kind == "user_rejected":
        return "denied"
    if kind == "error":
        return "error"
    if kind in ("edit", "read", "write"):
        return "error" if content.startswith(("ERROR:", "[Your proposed edit", "Your proposed edit")) else "success"
    if kind == "run_ipython":
        return "error" if content.lstrip("[\n ").startswith("Your proposed edit has introduced new syntax error(s).") else "success"
    return "error" if code not in (None, 0, -1) or item.get("success") is False else "success"


def swe_agent(doc):
    run = Run()
    asked = 0
    messages = doc if isinstance(doc, list) else doc["messages"]
    for number, message in enumerate(messages):
        commands = re.findall(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", texts(message.get("content")), re.S)
        if message["role"] == "assistant" and len(commands) == 1:
            asked = number
            run.calls[asked] = None
            submits = re.search(r"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT|MINI_SWE_AGENT_FINAL_OUTPUT", commands[0])
            run.status = "completed" if submits else "unknown"
        elif message["role"] == "user" and asked in run.calls:
            code = re.search(r"<returncode>(-?\d+)</returncode>", texts(message.get("content")))
            run.calls[asked] = "error" if code and code.group(1) != "0" else "success"
            asked = -1
    info = {} if isinstance(doc, list) else doc.get("info", {})
    if info.get("exit_status"):
        run.status = "completed" if info["exit_status"].lower() == "submitted" else "failed"
    run.cost = (info.get("model_stats") or {}).get("instance_cost") or 0.0
    return run


READERS = {"gemini-cli": gemini, "openhands": openhands, "swe-agent": swe_agent}

with open(sys.argv[2], encoding="utf-8") as f:
    print(json.dumps(READERS[sys.argv[1]](json.load(f)).report()))
