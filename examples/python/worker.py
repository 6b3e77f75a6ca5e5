"""A Pawl worker on the generated client alone: leases, steps, effects. What it does with them is in tickets.py; see README.md."""

import json, os, secrets, threading, time, uuid

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from pawl.v1 import failure_pb2, operation_pb2 as op, operation_service_pb2 as ops, payload_pb2, worker_service_pb2 as work
from pawl.v1.operation_service_pb2_grpc import OperationServiceStub
from pawl.v1.worker_service_pb2_grpc import WorkerServiceStub

channel = grpc.insecure_channel(os.environ.get("PAWL_ADDRESS", "127.0.0.1:7295"))
workers, operations = WorkerServiceStub(channel), OperationServiceStub(channel)
AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED)


class Stop(Exception):
    """The attempt is over without a report: its lease has ended."""


class Failed(Exception):
    """The attempt failed; the first argument is the Failure."""


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
            if error.reason in ("PAWL_LEASE_LOST", "PAWL_RUN_OVER"):
                raise Stop(error.reason)
            if error.code() not in AGAIN:
                raise
            time.sleep(min(5, 0.05 * 2 ** min(turn, 10)) * (0.5 + secrets.randbelow(500) / 1000))


class Attempt:
    """One attempt of one task, under its lease."""

    def __init__(self, offer):
        self.named = {"run_id": offer.run_id, "task": offer.task, "lease_version": offer.lease_version}
        self.offer, self.lease, self.holder = offer, work.LeaseRef(**self.named), ops.OperationHolder(**self.named)
        self.over, self.cancelled, self.steps = threading.Event(), False, {step.name: step for step in offer.steps}
        threading.Thread(target=self.renew, daemon=True).start()
        if offer.more_steps:
            rest = work.GetRecordsRequest(lease=self.lease, after_number=offer.steps[-1].number)
            self.steps |= {step.name: step for page in workers.GetRecords(rest) for step in page.steps}

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
                observed = ops.ObserveOperationRequest(key=said.key, observation=op.Observation(**outcome), **intent)
                send(operations.ObserveOperation, observed)
                if "not_sent" in outcome:
                    raise Failed(failure("NotSent", outcome["not_sent"].message, True))
            elif what == "reuse":
                how = said.WhichOneof("outcome")
                if how != "result":
                    raise Failed(failure(how, getattr(said, how).message))
                return json.loads(said.result.data)
            elif what in ("wait", "look_up"):
                self.over.wait(said.not_before_ms / 1000)
                if what == "look_up":
                    found = op.Reconciliation(**look_up(said.key))
                    finding = {"key": said.key, "looked_up_intent_id": said.intent_id, "reconciliation": found}
            else:
                if what == "paused":
                    send(workers.ReleaseTask, work.ReleaseTaskRequest(lease=self.lease, reason="the run is paused"))
                raise Stop(what)  # A person decides: the lease ended with this answer, and the task is offered again.
        raise Failed(failure("Cancelled", "cancellation was requested")) if self.cancelled else Stop("the lease is lost")


def attempt(offer, handler):
    """Runs the handler and reports how it ended, once."""
    this = Attempt(offer)
    report = work.ReportItem(**this.named)
    try:
        try:
            report.output.CopyFrom(payload(handler(this, json.loads(offer.input.data))))
        except Failed as error:
            (report.cancelled if this.cancelled else report.failure).CopyFrom(error.args[0])
        result = send(workers.ReportOutputs, work.ReportOutputsRequest(reports=[report])).results[0]
        print(f"{offer.run_id} {offer.task}: {result.rejection.reason or 'reported'}", flush=True)
    except Stop as stop:
        print(f"{offer.run_id} {offer.task}: stopped, {stop}", flush=True)
    finally:
        this.over.set()


def serve(handlers):
    """Claims one task after another, for as long as the process lives."""
    serves, session = [work.ServedKind(kind=kind) for kind in handlers], str(uuid.uuid4())
    print(json.dumps({"serving": list(handlers)}), flush=True)
    while True:
        claim = work.ClaimTasksRequest(session_id=session, worker=f"python {os.getpid()}", serves=serves, once=True, wait=Duration(seconds=20))
        try:
            for offer in [offer for answer in workers.ClaimTasks(claim, timeout=60) for offer in answer.offers]:
                attempt(offer, handlers[offer.kind])
        except grpc.RpcError:
            time.sleep(0.5)  # No kernel just now.
