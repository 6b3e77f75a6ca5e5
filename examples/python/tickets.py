"""What the worker does: it files a ticket at examples/ticket-service, a sink of three kinds, and confirms it."""

import json
import os
import secrets
import urllib.error
import urllib.request
from urllib.parse import quote

from pawl.v1 import operation_pb2 as op
from pawl.v1.run_pb2 import TASK_STATUS_COMPLETED, TaskStatus
from pawl.v1.worker_service_pb2 import InputOutcome
from worker import failure, payload, serve

TICKETS = os.environ.get("TICKETS_URL", "http://127.0.0.1:7310")
SINKS = {
    "idempotent": op.Sink(kind=op.SINK_KIND_IDEMPOTENT, key_window_ms=86_400_000),
    "reconcilable": op.Sink(kind=op.SINK_KIND_RECONCILABLE, settle_ms=1000),
    "opaque": op.Sink(kind=op.SINK_KIND_OPAQUE, settle_ms=1000),
}


SEVERITY = {"enum": ["minor", "major"]}


def file_ticket(attempt, order):
    """Files one ticket. Its content is the same in every attempt, since what is random in it is recorded."""
    mode = order["sink"]
    note = attempt.step("note", lambda: secrets.token_hex(4))
    ticket = {"title": order["title"], "body": f"Filed from Python, note {note}."}
    if "ask" in order:
        ticket["labels"] = [ask_severity(attempt, order["ask"])]
    request = op.OperationRequest(
        name="tickets.create",
        target="tickets",
        payload=payload(ticket),
        sink=SINKS[mode],
        call_timeout_ms=order.get("callMs", 2000),
    )
    if "approvers" in order:
        attempt.approve(request, **{"from": order["approvers"]}, requester_may_decide=order.get("requesterMayDecide", False))
    made = attempt.perform(request, lambda key, body, left: ask(f"/{mode}/tickets", key, body, left), look_up)
    return {"id": made["id"], "note": note}


def ask_severity(attempt, addressee):
    """Asks somebody how bad it is; nobody waits meanwhile. The kernel lets no answer in that does not meet the schema."""
    question = {"question": "How bad is it?", "addressee": addressee, "schema": json.dumps(SEVERITY), "expires_in_ms": 86_400_000}
    said = attempt.wait_for("severity", input=question)
    how = said.WhichOneof("answer") if isinstance(said, InputOutcome) else "expired"
    return json.loads(said.given.data) if how == "given" else f"severity-{how}"


def confirm(attempt, _order):
    """Uses the output of the task before; or tells that there is none, where the plan goes on over that."""
    before = attempt.offer.dependencies[0]
    if before.status != TASK_STATUS_COMPLETED:
        return {"confirmed": None, "why": before.failure.code or TaskStatus.Name(before.status)}
    return {"confirmed": json.loads(before.output.data)["id"]}


def ask(path, key=None, body=None, seconds=10):
    """How a call of the sink ended, as a field of an Observation; `result` holds the ticket's id."""
    headers = {"content-type": "application/json"} | ({"idempotency-key": key} if key else {})
    try:
        with urllib.request.urlopen(urllib.request.Request(TICKETS + path, body, headers), timeout=seconds) as answer:
            return {"result": payload({"id": json.load(answer)["ticket"]["id"]})}
    except urllib.error.HTTPError as error:
        # 409: the call under this key is still under way.
        outcome = "refused" if error.code in (400, 404, 422) else "unknown"
        return {outcome: failure(f"Http{error.code}", error.read().decode())}
    except OSError as error:
        # Only a connection that never came to be is sure not to have carried the call.
        never_left = isinstance(getattr(error, "reason", None), ConnectionRefusedError)
        return {"not_sent" if never_left else "unknown": failure("Connection", error, True)}


def look_up(key):
    """Whether the sink has a ticket of this key, as a field of a Reconciliation."""
    ((how, said),) = ask(f"/reconcilable/tickets?reference={quote(key, safe='')}").items()
    if how == "result":
        return {"found": said}
    return {"absent": op.Absent()} if how == "refused" and said.kind == "Http404" else {"unknown": said}


if __name__ == "__main__":
    handlers = {"python.file": file_ticket, "python.confirm": confirm}
    served = os.environ.get("SERVES", ",".join(handlers)).split(",")
    print(json.dumps({"serving": served}), flush=True)
    serve({kind: handlers[kind] for kind in served})
