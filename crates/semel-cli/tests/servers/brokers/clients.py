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


print(json.dumps(globals()[sys.argv[1]](*json.loads(sys.stdin.read()))))
