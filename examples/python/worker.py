"""A Pawl worker on the generated client alone: leases, steps, effects, waits. What it does with them is in tickets.py; see README.md."""

import json, os, secrets, threading, time, uuid
import grpc
from google.rpc import error_details_pb2, status_pb2
from pawl.v1 import approval_service_pb2 as approval, failure_pb2, operation_service_pb2 as ops, payload_pb2
from pawl.v1 import proposal_status_pb2 as proposals, worker_service_pb2 as work
from pawl.v1.approval_service_pb2_grpc import ApprovalServiceStub
from pawl.v1.operation_service_pb2_grpc import OperationServiceStub
from pawl.v1.worker_service_pb2_grpc import WorkerServiceStub

channel = grpc.insecure_channel(os.environ.get("PAWL_ADDRESS", "127.0.0.1:7295"))
workers, operations, approvals = WorkerServiceStub(channel), OperationServiceStub(channel), ApprovalServiceStub(channel)
AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED)


class Stop(BaseException): """The attempt is over without a report: its lease has ended. No `except Exception` of a handler takes it."""
class Failed(Exception): """The attempt failed; the first argument is the Failure."""


def failure(kind, message, retryable=False):
    return failure_pb2.Failure(kind=kind, message=str(message)[:1000], retryable=retryable)


def payload(value):
    return payload_pb2.Payload(content_type="application/json", data=json.dumps(value).encode())


def send(method, request):
    """Sends until it is answered. Every identity was made before, so sending again is safe."""
    for turn in range(1_000_000):
        try:
            return method(request, timeout=60)
        except grpc.RpcError as error:
            info, status = error_details_pb2.ErrorInfo(), dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
            error.reason = info.reason if any(d.Unpack(info) for d in status_pb2.Status.FromString(status).details) else ""
            if error.code() not in AGAIN:
                raise Stop(error.reason) if error.reason in ("PAWL_LEASE_LOST", "PAWL_RUN_OVER") else error
            time.sleep(min(5, 0.05 * 2 ** min(turn, 10)) * (0.5 + secrets.randbelow(500) / 1000))


class Attempt:
    """One attempt of one task, under its lease."""
    def __init__(self, offer):
        self.named = {"run_id": offer.run_id, "task": offer.task, "lease_version": offer.lease_version}
        self.offer, self.lease, self.holder = offer, work.LeaseRef(**self.named), ops.OperationHolder(**self.named)
        self.over, self.cancelled = threading.Event(), False
        threading.Thread(target=self.renew, daemon=True).start()

    def renew(self):
        """At once, which takes the offer; then at a third of the lease, until the attempt is over or its lease is lost."""
        while not self.over.is_set():
            result = send(workers.RenewLeases, work.RenewLeasesRequest(leases=[self.lease])).results[0]
            self.cancelled = self.cancelled or result.cancel_requested
            if result.HasField("rejection"):
                return self.over.set()
            self.over.wait(result.lease_ms / 3000)

    def step(self, name, make):
        """A value that is the same in every attempt, once it is recorded."""
        if name not in self.steps:
            item = work.StepItem(name=name, value=payload(make()), seen_through=self.offer.seen_through)
            result = send(workers.RecordSteps, work.RecordStepsRequest(lease=self.lease, steps=[item])).results[0]
            if result.HasField("rejection"):
                raise Stop(result.rejection.reason)
            self.steps[name] = result.step if result.HasField("step") else item
        return json.loads(self.steps[name].value.data)

    def wait_for(self, name, **subject):
        """Gives the lease back until this is there; then the task is offered again, and this is what came."""
        if name not in self.outcomes:
            send(workers.Suspend, work.SuspendRequest(lease=self.lease, seen_through=self.offer.seen_through, waits=[{"name": name, **subject}]))
            raise Stop(f"waits for {name}")
        return getattr(self.outcomes[name], self.outcomes[name].WhichOneof("outcome"))

    def approve(self, operation, **who):
        """Has people allow exactly this operation before it may be performed."""
        action = {"operation": operation.name, "target": operation.target, "payload": operation.payload}
        proposal = send(approvals.ProposeAction, approval.ProposeActionRequest(holder=self.holder, **action, **who)).proposal
        said = self.wait_for(f"approval of {operation.name}", proposal={"proposal_id": proposal.proposal_id})
        if said.status != proposals.PROPOSAL_STATUS_APPROVED:
            raise Failed(failure("NotApproved", said.reason or proposals.ProposalStatus.Name(said.status)))
        operation.proposal_id = proposal.proposal_id

    def perform(self, operation, call, look_up):
        """An effect: it happens once, or a person is asked. `call` is given key, content and the seconds it may take."""
        finding = None
        while not self.over.is_set() and not self.cancelled:
            intent, began = {"holder": self.holder, "intent_id": str(uuid.uuid4())}, time.monotonic()
            try:
                if finding is None:
                    request = ops.IntendOperationRequest(operation=operation, seen_through=self.offer.seen_through, **intent)
                    answer = send(operations.IntendOperation, request).answer
                else:
                    answer = send(operations.ReconcileOperation, ops.ReconcileOperationRequest(**intent, **finding)).answer
            except grpc.RpcError as error:
                if error.reason not in ("PAWL_STALE_INTENT", "PAWL_TOO_EARLY", "PAWL_ILLEGAL_TRANSITION"):
                    raise
                finding = None  # Another call was made since, or it was looked up too early: ask anew.
                continue
            what, finding = answer.WhichOneof("answer"), None
            said = getattr(answer, what)
            if what == "proceed":
                left = said.call_ms / 1000 - (time.monotonic() - began)
                outcome = call(said.key, said.payload.data, left) if left > 0 else {"not_sent": failure("TooLate", "no time was left")}
                send(operations.ObserveOperation, ops.ObserveOperationRequest(key=said.key, observation=outcome, **intent))
                if "not_sent" in outcome:
                    raise Failed(failure("NotSent", outcome["not_sent"].message, True))
            elif what == "reuse":
                if said.WhichOneof("outcome") != "result":
                    raise Failed(said.refusal if said.HasField("refusal") else said.abandoned)
                return json.loads(said.result.data)
            elif what in ("wait", "look_up"):
                self.over.wait(said.not_before_ms / 1000)
                if what == "look_up":
                    finding = {"key": said.key, "looked_up_intent_id": said.intent_id, "reconciliation": look_up(said.key)}
            elif what == "awaiting":
                raise Failed(failure("NotApproved", said.reason))
            else:  # A person decides; then the task is offered again. With `review` the lease has ended already.
                if what == "paused":
                    send(workers.ReleaseTask, work.ReleaseTaskRequest(lease=self.lease, reason="the run is paused"))
                raise Stop(what)
        raise Failed(failure("Cancelled", "cancellation was requested")) if self.cancelled else Stop("the lease is lost")


def attempt(offer, handler):
    this = Attempt(offer)
    try:
        pages = send(lambda *args, **more: list(workers.GetRecords(*args, **more)), work.GetRecordsRequest(lease=this.lease))
        this.steps = {step.name: step for page in pages for step in page.steps}
        this.outcomes = {outcome.name: outcome for page in pages for outcome in page.outcomes}
        try:
            outcome = {"output": payload(handler(this, json.loads(offer.input.data)))}
        except Exception as error:  # Unreported, a mistake would end this worker, and then the next one, at the same offer.
            what = error.args[0] if isinstance(error, Failed) else failure(type(error).__name__, error, True)
            outcome = {"cancelled" if this.cancelled else "failure": what}
        result = send(workers.ReportOutputs, work.ReportOutputsRequest(reports=[{**this.named, **outcome}])).results[0]
        print(f"{offer.run_id} {offer.task}: {result.rejection.reason or 'reported'}", flush=True)
    except Stop as stop:
        print(f"{offer.run_id} {offer.task}: stopped, {stop}", flush=True)
    this.over.set()


def serve(handlers):
    """Claims one task after another, for as long as the process lives."""
    claim = {"session_id": str(uuid.uuid4()), "worker": f"python {os.getpid()}", "once": True, "wait": {"seconds": 20}}
    request = work.ClaimTasksRequest(serves=[work.ServedKind(kind=kind) for kind in handlers], **claim)
    while True:
        for offer in send(lambda *args, **more: [o for page in workers.ClaimTasks(*args, **more) for o in page.offers], request):
            attempt(offer, handlers[offer.kind])
