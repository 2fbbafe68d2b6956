"""What tests ask of brokers, by other people's clients: a function and its arguments as JSON, the answer as JSON."""

import asyncio
import json
import os
import sys
import time


def until(what, is_so):
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within a minute")


def kafka(**more):
    return {"bootstrap.servers": os.environ["SEMEL_TEST_KAFKA"], **more}


def kafka_topic(topic, partitions, config):
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient(kafka())
    admin.create_topics([NewTopic(topic, partitions, config=config)])[topic].result(60)
    until("the topic is there", lambda: len(admin.list_topics(topic, 60).topics[topic].partitions) == partitions)


def kafka_send(topic, messages):
    from confluent_kafka import Producer

    failed = []
    producer = Producer(kafka())
    for message in messages:
        headers = list(message["headers"].items())
        report = lambda error, _: failed.append(str(error)) if error else None
        producer.produce(topic, message["payload"], message.get("key"), headers=headers, on_delivery=report)
        producer.poll(0)
    assert producer.flush(60) == 0 and not failed, failed


def kafka_offsets(topic, partitions, group, commit=None):
    """How far a group has come, over all partitions; it is set to `commit` in the first one before."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(kafka(**{"group.id": group}))
    if commit is not None:
        consumer.commit(offsets=[TopicPartition(topic, 0, commit)], asynchronous=False)
    found = consumer.committed([TopicPartition(topic, at) for at in range(partitions)], 60)
    consumer.close()
    return sum(max(one.offset, 0) for one in found)


def rabbit():
    import pika

    connection = pika.BlockingConnection(pika.URLParameters(os.environ["SEMEL_TEST_RABBITMQ"]))
    return connection, connection.channel(), pika.BasicProperties


def rabbit_dead(queue, messages):
    """Publishes to a queue and rejects: the broker moves them to `QUEUE.dead`."""
    connection, channel, properties = rabbit()
    dead, gone = f"{queue}.dead", {"x-expires": 600_000}
    before = channel.queue_declare(dead, durable=True, arguments=gone).method.message_count
    moves = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
    channel.queue_declare(queue, durable=True, arguments={**gone, **moves})
    channel.confirm_delivery()
    for message in messages:
        said = properties(message_id=message["id"], headers=message["headers"], delivery_mode=2)
        channel.basic_publish("", queue, message["payload"], said)
        channel.basic_reject(channel.basic_get(queue)[0].delivery_tag, requeue=False)
    count = lambda: channel.queue_declare(dead, passive=True).method.message_count
    until("they are dead letters", lambda: count() == before + len(messages))
    connection.close()


def rabbit_count(queue):
    connection, channel, _ = rabbit()
    count = channel.queue_declare(queue, passive=True).method.message_count
    connection.close()
    return count


def nats(work):
    import nats

    async def run():
        client = await nats.connect(os.environ["SEMEL_TEST_NATS"])
        try:
            return await asyncio.wait_for(work(client.jetstream()), 60)
        finally:
            await client.close()

    return asyncio.run(run())


def nats_stream(name, config):
    nats(lambda stream: quietly(stream.add_stream(name=name, subjects=[name], **config)))


async def quietly(answer):
    await answer


def nats_send(name, messages):
    async def send(stream):
        for message in messages:
            await stream.publish(name, message["payload"].encode(), headers=message["headers"])

    nats(send)


def nats_consumer(name, durable, max_deliver):
    from nats.js.api import ConsumerConfig

    config = ConsumerConfig(durable_name=durable, max_deliver=max_deliver, ack_policy="explicit")
    nats(lambda stream: quietly(stream.add_consumer(name, config)))


def nats_consumers(name):
    """The consumers of a stream, and how much waits for each."""

    async def ask(stream):
        return {one.name: one.num_pending for one in await stream.consumers_info(name)}

    return nats(ask)


def nats_dead(name, advisories, messages):
    """Publishes to a stream whose consumer gets each message once, and lets it give them up; a second stream catches the advisories."""
    from nats.errors import TimeoutError
    from nats.js.api import ConsumerConfig

    async def give_up(stream):
        await stream.add_stream(name=name, subjects=[name])
        given_up = f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{name}.>"
        await stream.add_stream(name=advisories, subjects=[given_up])
        config = ConsumerConfig(durable_name="once", max_deliver=1, ack_wait=1, ack_policy="explicit")
        await stream.add_consumer(name, config)
        reader = await stream.pull_subscribe(name, "once", stream=name)
        before = (await stream.stream_info(advisories)).state.messages
        for message in messages:
            await stream.publish(name, message["payload"].encode(), headers=message["headers"])
        while (await stream.stream_info(advisories)).state.messages < before + len(messages):
            try:
                await reader.fetch(len(messages), timeout=1)
            except TimeoutError:
                pass

    nats(give_up)


def sqs():
    import boto3

    return boto3.client(
        "sqs", endpoint_url=os.environ["SEMEL_TEST_SQS"], region_name="eu-central-1",
        aws_access_key_id="x", aws_secret_access_key="x")


def sqs_dead(queue, messages):
    """Sends to a queue and receives, until the broker moves them to `QUEUE-dead`."""
    client = sqs()
    dead = client.create_queue(QueueName=f"{queue}-dead")["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    url = client.create_queue(QueueName=queue, Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"})["QueueUrl"]
    before = sqs_count(f"{queue}-dead")
    for message in messages:
        said = {**message["headers"], "message-id": message["id"]}
        said = {name: {"DataType": "String", "StringValue": value} for name, value in said.items()}
        client.send_message(QueueUrl=url, MessageBody=message["payload"], MessageAttributes=said)

    def moved():
        client.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        return sqs_count(f"{queue}-dead") == before + len(messages)

    until("they are dead letters", moved)


def sqs_count(queue):
    client = sqs()
    url = client.get_queue_url(QueueName=queue)["QueueUrl"]
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = client.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(count) for count in found.values())


def rabbit_queue(queue):
    connection, channel, _ = rabbit()
    channel.queue_declare(queue, durable=True, arguments={"x-expires": 600_000})
    connection.close()


def rabbit_send(queue, messages):
    connection, channel, properties = rabbit()
    channel.confirm_delivery()
    for message in messages:
        said = properties(message_id=message["id"], headers=message["headers"], delivery_mode=2)
        channel.basic_publish("", queue, message["payload"], said)
    connection.close()


def sqs_queue(queue):
    sqs().create_queue(QueueName=queue)


def sqs_send(queue, messages):
    client = sqs()
    url = client.get_queue_url(QueueName=queue)["QueueUrl"]
    for message in messages:
        said = {name: {"DataType": "String", "StringValue": value} for name, value in message["headers"].items()}
        client.send_message(QueueUrl=url, MessageBody=message["payload"], MessageAttributes=said)


def make(broker, place):
    """A topic, queue or stream of this name."""
    {"kafka": lambda: kafka_topic(place, 2, {}), "rabbit": lambda: rabbit_queue(place),
     "nats": lambda: nats_stream(place, {}), "sqs": lambda: sqs_queue(place)}[broker]()


def send(broker, place, messages):
    {"kafka": kafka_send, "rabbit": rabbit_send, "nats": nats_send, "sqs": sqs_send}[broker](place, messages)


def send_event(broker, place, id):
    """One event of the CloudEvents SDK, in binary and in structured mode: the same event twice."""
    from cloudevents.core.bindings import amqp, http, kafka as kafka_binding
    from cloudevents.core.v1.event import CloudEvent

    attributes = {"id": id, "source": "/sdk", "type": "order.paid", "specversion": "1.0", "datacontenttype": "application/json"}
    event = CloudEvent(attributes, {"n": 1})
    if broker == "kafka":
        from confluent_kafka import Producer

        producer = Producer(kafka())
        for one in [kafka_binding.to_binary_event(event), kafka_binding.to_structured_event(event)]:
            producer.produce(place, one.value, headers=list(one.headers.items()))
        assert producer.flush(60) == 0
    elif broker == "rabbit":
        connection, channel, properties = rabbit()
        for one in [amqp.to_binary_event(event), amqp.to_structured_event(event)]:
            said = properties(content_type=one.properties.get("content-type"), headers=one.application_properties)
            channel.basic_publish("", place, one.application_data, said)
        connection.close()
    else:
        # JetStream's and SQS' headers are texts, as those of HTTP are.
        modes = [http.to_binary_event(event), http.to_structured_event(event)]
        send(broker, place, [{"payload": one.body.decode(), "headers": one.headers} for one in modes])


def published(broker, place, count):
    """The ids and payloads of what is in a place; waits until there are so many."""
    found = []
    if broker == "kafka":
        from confluent_kafka import Consumer

        consumer = Consumer(kafka(**{"group.id": f"{place}-reader", "auto.offset.reset": "earliest"}))
        consumer.subscribe([place])

        def read():
            one = consumer.poll(0.1)
            if one is not None and not one.error():
                found.append([dict(one.headers())["message-id"].decode(), one.value().decode()])
    elif broker == "rabbit":
        connection, channel, _ = rabbit()

        def read():
            method, properties, body = channel.basic_get(place, auto_ack=True)
            if method:
                found.append([properties.message_id, body.decode()])
    elif broker == "nats":
        async def all_of(stream):
            info = await stream.stream_info(place)
            messages = [await stream.get_msg(place, seq) for seq in range(1, info.state.messages + 1)]
            return [[one.headers["Nats-Msg-Id"], one.data.decode()] for one in messages]

        def read():
            found[:] = nats(all_of)
    else:
        client = sqs()
        url = client.get_queue_url(QueueName=place)["QueueUrl"]

        def read():
            got = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
            found.extend([one["MessageAttributes"]["message-id"]["StringValue"], one["Body"]] for one in got.get("Messages", []))

    def is_all():
        read()
        return len(found) >= count

    until("all is published", is_all)
    return sorted(found)


print(json.dumps(globals()[sys.argv[1]](*json.loads(sys.stdin.read()))))
